package backendurl_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/test/sqltest"
)

// connect returns the store of a URL.
func connect(t *testing.T, rawURL string) (*backendurl.Backend, *distlock.Locker) {
	t.Helper()
	b, err := backendurl.Connect(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l := distlock.New(b.Backend, distlock.Config{})
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	})
	return b, l
}

// Connect asks the store for nothing, so it succeeds where Open fails.
func TestConnectWithoutServer(t *testing.T) {
	t.Parallel()
	for rawURL, want := range map[string]struct{ password, tls bool }{
		"redis://u:p@127.0.0.1:1/3":                    {true, false},
		"rediss://127.0.0.1:1":                         {false, true},
		"zk://u:p@127.0.0.1:1,h:2/x":                   {true, false},
		"mysql://127.0.0.1:1/db":                       {false, false},
		"etcd://127.0.0.1:1/x?tls=true":                {false, true},
		"postgres://u:p@127.0.0.1:1,h:2/x":             {true, false},
		"postgres://127.0.0.1:1,h:2/x?sslmode=require": {false, true},
	} {
		b, _ := connect(t, rawURL)
		if b.Servers[0] != "127.0.0.1:1" || b.Password != want.password || b.TLS != want.tls {
			t.Errorf("%s: %v, password %v, TLS %v", rawURL, b.Servers, b.Password, b.TLS)
		}
	}
	file := filepath.Join(t.TempDir(), "x.db")
	connect(t, "sqlite:"+file)
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file exists: %v", err)
	}
}

// Connect creates no tables.
func TestConnectDatabase(t *testing.T) {
	t.Parallel()
	_, l := connect(t, sqltest.Postgres.NewDatabase(t))
	if err := admin.Ping(t.Context(), l); !errors.Is(err, sqllock.ErrNoTable) {
		t.Errorf("got %v", err)
	}
}
