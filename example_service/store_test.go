package main

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redislock/embedded"
	"github.com/distlock-go/distlock/internal/sqltest"
	"github.com/distlock-go/distlock/internal/testmode"
)

// lockStore is a store of locks that the test can inspect and break.
type lockStore struct {
	url    string
	server *embedded.Server
	client redis.UniversalClient
}

// newStore starts an embedded server with a port.
func newStore(t *testing.T) *lockStore {
	t.Helper()
	testmode.InRealTime(t)
	s := embedded.Start()
	t.Cleanup(func() { _ = s.Close() })
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &lockStore{url: "redis://" + addr + "/0", server: s, client: s.Client()}
}

// keyOf returns the key of an item's lock.
func keyOf(t *testing.T, sku string) string {
	t.Helper()
	key, err := distlock.NewKeyBuilder(itemLock(config{})).Key(sku)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// hold takes the lock of an item, as another program would, and returns a function that
// releases it.
func (s *lockStore) hold(t *testing.T, sku string) (release func()) {
	t.Helper()
	l := distlock.New(redislock.New(s.client), distlock.Config{})
	lease, err := l.Acquire(t.Context(), keyOf(t, sku), distlock.Opts{})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
		_ = l.Close()
	}
}

// held reports whether an item is locked.
func (s *lockStore) held(t *testing.T, sku string) bool {
	t.Helper()
	n, err := s.client.Exists(t.Context(), keyOf(t, sku)).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// clock is the key of the last token. It outlives the locks.
const clock = "distlock:clock"

// lastToken returns the last token that was issued. Each lock that is taken changes it.
func (s *lockStore) lastToken(t *testing.T) string {
	t.Helper()
	token, err := s.client.Get(t.Context(), clock).Result()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// locks returns the keys in the store, except the clock, and tombstones: on a busy machine
// the answer to an attempt may be late, and then the release leaves one.
func (s *lockStore) locks(t *testing.T) (keys []string) {
	t.Helper()
	all, err := s.client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		if k != clock && !strings.HasSuffix(k, "}:gone") {
			keys = append(keys, k)
		}
	}
	return keys
}

// logged counts the log lines with a message.
func (s *service) logged(msg string) int { return strings.Count(s.log.String(), `msg="`+msg+`"`) }

// wanted counts the acquisitions that have begun. It needs -v.
func (s *service) wanted() int { return s.logged("lock wanted") }

// eachDatabase runs a test with a value of -db for each kind of database.
func eachDatabase(t *testing.T, f func(t *testing.T, db string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) { f(t, filepath.Join(t.TempDir(), "shop.db")) })
	t.Run("PostgreSQL", func(t *testing.T) { f(t, sqltest.Postgres.NewDatabase(t)) })
}

// openTestStore opens a database that others may open, too.
func openTestStore(t *testing.T, db string) *store {
	t.Helper()
	testmode.InRealTime(t) // an order has a lease, and waits for a limited time
	s, err := openStore(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestOpenTogether opens a new database in several places, as processes that start
// together do.
func TestOpenTogether(t *testing.T) {
	for range 5 {
		eachDatabase(t, func(t *testing.T, db string) {
			testmode.InRealTime(t)
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					s, err := openStore(t.Context(), db)
					if err != nil {
						t.Error(err)
						return
					}
					if err := s.close(); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		})
	}
}

func TestClaimIsFenced(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db string) {
		if !isPostgres(db) {
			db = filepath.Join(filepath.Dir(db), "a b%20?c#d.db") // with characters that have a meaning in a URI
		}
		s := openTestStore(t, db)
		if err := s.claim(t.Context(), "tea", 5); !errors.Is(err, errUnknownSKU) {
			t.Error(err)
		}
		if _, err := s.write.ExecContext(t.Context(), `INSERT INTO items VALUES ('tea', 7, 3)`); err != nil {
			t.Fatal(err)
		}
		const most = 1<<63 - 1 // the largest number that a database keeps
		for _, c := range []struct {
			token uint64
			want  error
		}{{4, nil}, {4, nil}, {6, nil}, {5, errFenced}, {6, nil}, {most, nil}, {7, errFenced}} {
			if err := s.claim(t.Context(), "tea", c.token); !errors.Is(err, c.want) {
				t.Errorf("claim with %d: %v, want %v", c.token, err, c.want)
			}
		}
		if !errors.Is(errFenced, distlock.ErrLost) {
			t.Error("a holder that is fenced has not lost the lock")
		}
	})
}

// TestTablesOfAnotherProgram opens a database in which the names of the tables are
// taken.
func TestTablesOfAnotherProgram(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db string) {
		s := openTestStore(t, db)
		if _, err := s.write.ExecContext(t.Context(), `ALTER TABLE items DROP COLUMN fence`); err != nil {
			t.Fatal(err)
		}
		if again, err := openStore(t.Context(), db); err == nil || !strings.Contains(err.Error(), "fence") {
			t.Errorf("%v, %v", again, err)
		}
	})
}
