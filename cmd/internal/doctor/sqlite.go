package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

var fileChecks = []check[string]{
	{"file-system", server, "On a network file system SQLite's locks do not work, and two processes may write at the same time (P1).", fileSystem},
	{"file", server, "A lock is a row of a table. A Backend does not create the tables (P1).", missingFile},
}

// examineFile looks at the file without opening it, which would create it.
func examineFile(ctx context.Context, file string) ([]Finding, error) {
	if _, err := os.Stat(filepath.Dir(file)); err != nil {
		return nil, err
	}
	if _, err := os.Stat(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return run(ctx, file, fileChecks), nil
}

func missingFile(_ context.Context, file string) (verdict, error) {
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return fault("there is no file", "distlock ls -backend URL creates it with its tables"), nil
	}
	return verdict{}, nil
}

func fileSystem(_ context.Context, file string) (verdict, error) {
	switch name := fileSystemOf(filepath.Dir(file)); name {
	case "":
		return verdict{}, errors.New("the file system is unknown")
	case "local":
		return ok("%s", name), nil
	case "fuse":
		return note(name+": it may be a network file system", "keep the file on a local disk"), nil
	default:
		return fault(name+", a network file system", "keep the file on a local disk, or use a database server"), nil
	}
}
