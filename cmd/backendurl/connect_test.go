package backendurl_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/test/sqltest"
)

// connect returns the store of a URL.
func connect(t *testing.T, rawURL string) *backendurl.Store {
	t.Helper()
	s, err := backendurl.Connect(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Connect asks the store for nothing, so it succeeds where Open fails.
func TestConnectWithoutServer(t *testing.T) {
	t.Parallel()
	if c, ok := connect(t, "redis://u:p@127.0.0.1:1/3").Client.(*redis.Client); !ok || c.Options().DB != 3 {
		t.Errorf("the client is %v", c)
	}
	z, ok := connect(t, "zk://u:p@127.0.0.1:1,h:2/shop?session_timeout=5s").Client.(*backendurl.ZooKeeper)
	if !ok || z.User != "u" || z.Root != "/shop/distlock" || z.SessionTimeout.Seconds() != 5 {
		t.Errorf("the client is %+v", z)
	}
	if s := connect(t, "mysql://u:p@127.0.0.1:1/db"); s.Dialect != sqllock.MySQL {
		t.Errorf("the dialect is %v", s.Dialect)
	}
	if s := connect(t, "etcd://127.0.0.1:1/shop"); s.Prefix != "shop/" {
		t.Errorf("the prefix is %q", s.Prefix)
	}
	file := filepath.Join(t.TempDir(), "x.db")
	if s := connect(t, "sqlite:"+file); s.File != file {
		t.Errorf("the file is %q", s.File)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file exists: %v", err)
	}
	for _, rawURL := range []string{"embedded", "sqlite::memory:", "redis://h:x", "zk://", "postgres://h:x", "mysql://h", "sqlite:", "etcd://h:x", "x"} {
		if s, err := backendurl.Connect(t.Context(), rawURL); s != nil || !errors.Is(err, backendurl.ErrURL) {
			t.Errorf("%q: %v, %v", rawURL, s, err)
		}
	}
}

// Connect creates no tables.
func TestConnectDatabase(t *testing.T) {
	t.Parallel()
	rawURL := sqltest.Postgres.NewDatabase(t)
	s := connect(t, rawURL)
	db, ok := s.Client.(*sql.DB)
	if !ok {
		t.Fatalf("the client is %v", s.Client)
	}
	b, err := sqllock.New(db, s.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Ping(t.Context()); !errors.Is(err, sqllock.ErrNoTable) {
		t.Errorf("got %v", err)
	}
}
