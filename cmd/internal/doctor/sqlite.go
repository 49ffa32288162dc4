package doctor

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock/backend/sqllock"
)

func examineSQLite(ctx context.Context, db *sql.DB, file string) ([]Finding, error) {
	findings := []Finding{fileSystem(fileSystemOf(filepath.Dir(file)))}
	if _, err := os.Stat(file); err != nil { // to open it would create it
		if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if _, err := os.Stat(filepath.Dir(file)); err != nil {
			return nil, err
		}
		return append(findings, tables(sqliteTables(), 0)), nil
	}
	d := database{db, sqllock.SQLite}
	version, err := d.text(ctx, "SELECT sqlite_version()")
	if err != nil {
		return nil, err
	}
	mode, err := d.text(ctx, "PRAGMA journal_mode") // reads the file
	if err != nil {
		return nil, err
	}
	findings = append(findings, sqliteVersion(version), journalMode(mode))
	var names []string
	for _, name := range d.tables() {
		if found, err := d.text(ctx, "SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?", name); err == nil {
			names = append(names, found)
		}
	}
	findings = append(findings, d.schema(ctx, names), sqliteWritable(d.canWrite(ctx)))
	if writable(findings) {
		findings = append(findings, d.session(ctx))
		findings = append(findings, d.timing(ctx, "", true)...)
	}
	return findings, nil
}

func sqliteTables() []string { return database{dialect: sqllock.SQLite}.tables() }

// canWrite begins a transaction that writes, and undoes it.
func (d database) canWrite(ctx context.Context) error {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing depends on it
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "ROLLBACK")
	return err
}

func sqliteVersion(version string) Finding {
	m := leadingNumber.FindStringSubmatch(version)
	if m == nil {
		return unseen("version", "the version", nil)
	}
	minor, _ := strconv.Atoi(m[2])
	if m[1] != "3" || minor < 35 {
		return fault("version", "SQLite "+version, "use SQLite 3.35 or later")
	}
	return ok("version", "SQLite %s", version)
}

func journalMode(mode string) Finding {
	switch mode = strings.ToLower(mode); mode {
	case "wal":
		return ok("journal-mode", "%s", mode)
	case "memory", "off":
		return fault("journal-mode", mode+": a crash can damage the file", "PRAGMA journal_mode = WAL")
	default:
		return warning("journal-mode", mode+": readers and writers block each other", "PRAGMA journal_mode = WAL; distlock sets it when it takes a lock")
	}
}

func sqliteWritable(err error) Finding {
	if err != nil {
		return fault("write-access", oneLine(err), "let this user write the file and its directory")
	}
	return ok("write-access", "the file can be written")
}

// fileSystem decides on the name of a file system; "" if it is not known.
func fileSystem(name string) Finding {
	switch name {
	case "":
		return unseen("file-system", "on which file system the file is", nil)
	case "local":
		return ok("file-system", "%s", name)
	case "fuse":
		return note("file-system", name+": it may be a network file system", "keep the file on a local disk")
	default:
		return fault("file-system", name+", a network file system", "keep the file on a local disk, or use a database server")
	}
}
