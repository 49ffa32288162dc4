package sqltest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// newData makes the data directory of a server in dir. A directory without databases is
// made once and kept in the user's cache, because that takes seconds.
func (e *Engine) newData(dir string) error {
	template, err := e.template()
	if err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS(template)); err != nil {
		return err
	}
	return os.Chmod(filepath.Join(dir, "data"), 0o700) // PostgreSQL insists
}

// template returns an empty data directory of the installed version.
func (e *Engine) template() (string, error) {
	path, err := e.bin(e.server)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "distlock-sqltest")
	key := fmt.Sprint(path, info.Size(), info.ModTime().UnixNano(), e.installArgs(""))
	made := filepath.Join(cache, fmt.Sprintf("%s-%x", e.server, sha256.Sum256([]byte(key))))
	if _, err := os.Stat(made); err == nil {
		return made, nil
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "sqltest") // the server's user may not enter the cache
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system removes old files
	fresh := filepath.Join(dir, "data")
	cmd, err := e.command(dir, e.install, e.installArgs(fresh)...)
	if err != nil {
		return "", err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("sqltest: %s: %w\n%s", e.install, err, strings.TrimSpace(string(out)))
	}
	part, err := os.MkdirTemp(cache, "part")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part) //nolint:errcheck // nothing depends on it
	if err := os.CopyFS(filepath.Join(part, "data"), os.DirFS(fresh)); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(part, "data"), made); err != nil {
		if _, err := os.Stat(made); err == nil {
			return made, nil // another process was faster
		}
		return "", err
	}
	return made, nil
}
