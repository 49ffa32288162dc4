package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	servers "github.com/distlock-go/distlock/internal/test/child"
)

// postgreSQLPrograms are the directories of Debian's packages, one for each version.
const postgreSQLPrograms = "/usr/lib/postgresql/*/bin"

// startPostgreSQL starts an empty PostgreSQL on a free port, with its defaults but for
// the number of connections. It returns the URL and a function that stops it.
func startPostgreSQL(ctx context.Context) (url string, stop func(), err error) {
	bin, err := postgreSQLProgram("postgres")
	if err != nil {
		return "", nil, err
	}
	initdb, err := postgreSQLProgram("initdb")
	if err != nil {
		return "", nil, err
	}
	// The server refuses to run as root.
	program := func(dir, path string, args ...string) (*exec.Cmd, error) {
		cmd := exec.Command(path, args...)
		cmd.Dir = dir
		return cmd, servers.Unprivileged(cmd, "postgres", dir)
	}
	command := func(dir string, ports []int) (*exec.Cmd, error) {
		data := filepath.Join(dir, strconv.Itoa(ports[0]))
		cmd, err := program(dir, initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
		if err != nil {
			return nil, err
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("initdb: %w: %s", err, out)
		}
		return program(dir, bin, "-D", data, "-p", strconv.Itoa(ports[0]), "-c", "listen_addresses=127.0.0.1",
			"-c", "unix_socket_directories=", "-c", "max_connections=200")
	}
	urlOf := func(addr string) string {
		return postgreSQLScheme + "postgres@" + addr + "/postgres?sslmode=disable"
	}
	serves := func(addr string) bool { return postgreSQLVersion(ctx, urlOf(addr)) != "" }
	addr, stop, err := launch(ctx, "PostgreSQL", command, serves)
	return urlOf(addr), stop, err
}

// postgreSQLProgram returns the path of a program of the newest version.
func postgreSQLProgram(name string) (string, error) {
	dirs, err := filepath.Glob(postgreSQLPrograms)
	if err != nil {
		return "", err
	}
	for _, dir := range slices.Backward(dirs) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return servers.LookPath(name, "it needs Debian's package postgresql")
}

// postgreSQLVersion asks a server for its version. It returns "" if the server does not
// serve clients yet.
func postgreSQLVersion(ctx context.Context, url string) (version string) {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return ""
	}
	defer c.Close(ctx) //nolint:errcheck // it was only read
	_ = c.QueryRow(ctx, "SELECT split_part(current_setting('server_version'), ' ', 1)").Scan(&version)
	return version
}
