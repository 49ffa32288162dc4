// Package sqltest starts PostgreSQL and MariaDB servers for tests, each as a
// [child.Server], which can be stopped, killed and started again. It needs no SQL
// driver: it uses the servers' own command-line clients. Only tests import it.
//
// A new fault of these servers goes here, as a method of [Server]; one that any server
// can have goes to package child, and one of the network to package spoilnet.
package sqltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
)

// Engine is a database server program and the programs around it.
type Engine struct {
	name    string
	server  string         // the server program
	install string         // the program that makes an empty data directory
	client  string         // the command-line client
	places  []string       // patterns of directories that are searched before PATH
	user    string         // the server's user, if the tests run as root and it must not
	ready   string         // what the server logs when it serves
	first   string         // a database that each server has
	now     string         // a query for the server's clock, in seconds since 1970
	asks    syscall.Signal // asks the server to end

	// Shared returns a server for all tests of a package, whose TestMain uses [child.Main]. A
	// test must not stop it.
	Shared func(tb child.TB) *Server

	installArgs func(data string) []string
	serverArgs  func(s *Server) []string
	clientArgs  func(s *Server, database string) []string
	url, dsn    func(s *Server, database string) string
}

// Postgres is PostgreSQL. The user postgres needs no password.
var Postgres = withShared(&Engine{
	name:    "PostgreSQL",
	server:  "postgres",
	install: "initdb",
	client:  "psql",
	places:  []string{"/usr/lib/postgresql/*/bin"},
	user:    "postgres",
	ready:   "database system is ready to accept",
	first:   "postgres",
	now:     "SELECT extract(epoch FROM clock_timestamp())",
	asks:    syscall.SIGINT,
	installArgs: func(data string) []string {
		return []string{"-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", "--no-instructions"}
	},
	serverArgs: func(s *Server) []string {
		return []string{
			"-D", s.data(), "-p", strconv.Itoa(s.Ports[0]),
			"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
			"-c", "fsync=off", "-c", "max_connections=200", "-c", "shared_buffers=32MB",
			// A server that ends waits for a client that has connected and says
			// nothing, for a minute by default.
			"-c", "authentication_timeout=10s",
		}
	},
	clientArgs: func(s *Server, database string) []string {
		return []string{"-X", "-h", "127.0.0.1", "-p", strconv.Itoa(s.Ports[0]), "-U", "postgres", "-d", database, "-v", "ON_ERROR_STOP=1", "-qAt", "-c"}
	},
	url: postgresURL,
	dsn: postgresURL,
})

func postgresURL(s *Server, database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", s.Addr(), database)
}

// MariaDB is MariaDB. The user root needs no password.
var MariaDB = withShared(&Engine{
	name:    "MariaDB",
	server:  "mariadbd",
	install: "mariadb-install-db",
	client:  "mariadb",
	places:  []string{"/usr/sbin", "/usr/bin"},
	ready:   "ready for connections",
	first:   "mysql",
	now:     "SELECT UNIX_TIMESTAMP(NOW(6))",
	asks:    syscall.SIGTERM,
	installArgs: func(data string) []string {
		return slices.Concat([]string{
			"--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=normal",
			"--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=16M",
		}, asRoot())
	},
	serverArgs: func(s *Server) []string {
		return slices.Concat([]string{
			"--no-defaults", "--datadir=" + s.data(), "--port=" + strconv.Itoa(s.Ports[0]),
			"--bind-address=127.0.0.1", "--socket=" + filepath.Join(s.dir, "socket"), "--pid-file=" + filepath.Join(s.dir, "pid"),
			"--skip-name-resolve", "--innodb-log-file-size=16M", "--innodb-buffer-pool-size=32M",
			"--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync", "--skip-log-bin",
			"--character-set-server=utf8mb4", "--max-connections=200",
		}, asRoot())
	},
	clientArgs: func(s *Server, database string) []string {
		return []string{"--no-defaults", "-h", "127.0.0.1", "-P", strconv.Itoa(s.Ports[0]), "-u", "root", "-D", database, "-N", "-B", "-e"}
	},
	url: func(s *Server, database string) string {
		return fmt.Sprintf("mysql://root@%s/%s", s.Addr(), database)
	},
	dsn: func(s *Server, database string) string {
		return fmt.Sprintf("root@tcp(%s)/%s", s.Addr(), database)
	},
})

// asRoot returns the argument that lets MariaDB run as root, if this process does.
func asRoot() []string {
	if os.Getuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

// bin returns the path of a program. The newest directory wins.
func (e *Engine) bin(program string) (string, error) {
	for _, pattern := range e.places {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		for _, dir := range slices.Backward(dirs) {
			if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
				return path, nil
			}
		}
	}
	return child.LookPath(program, "sqltest: not installed: "+e.name)
}

// command returns a command that runs a program. It owns dir.
func (e *Engine) command(dir, program string, args ...string) (*exec.Cmd, error) {
	path, err := e.bin(program)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC", "TMPDIR="+dir) // a MariaDB that starts empties the common one
	if e.user == "" {
		return cmd, nil
	}
	return cmd, child.Unprivileged(cmd, e.user, dir)
}

// NewDatabase makes an empty database on the server of [Engine.Shared], and returns its URL.
func (e *Engine) NewDatabase(tb testing.TB) string {
	tb.Helper()
	s := e.Shared(tb)
	return s.URL(s.NewDatabase(tb))
}

func withShared(e *Engine) *Engine {
	e.Shared = child.Shared(func(dir string) (*Server, error) { return e.Launch(dir) })
	return e
}
