package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

var (
	_ fence.Ticket = (*distlock.Lease)(nil)
	_ fence.Tx     = (*sql.Tx)(nil)
)

// What commits each statement alone, or may, is no transaction.
func TestTxIsATransaction(t *testing.T) {
	t.Parallel()
	for _, db := range []any{(*sql.DB)(nil), (*sql.Conn)(nil)} {
		if _, ok := db.(fence.Tx); ok {
			t.Errorf("a %T is taken for a transaction", db)
		}
	}
}

type ticket struct {
	key   string
	token uint64
}

func (t ticket) Key() string   { return t.key }
func (t ticket) Token() uint64 { return t.token }

// untouched is a transaction in which no statement may run.
type untouched struct {
	*sql.Tx

	t *testing.T
}

func (tx untouched) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	tx.t.Errorf("%s %v", query, args)
	return nil, errors.New("no database")
}

// Bad tickets are refused by name, before the database is asked.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	l := distlock.New(memlock.New(), distlock.Config{})
	over := testkit.MustAcquire(t, l, "tea", distlock.Opts{KeyTimeout: time.Hour})
	none, _ := distlock.FromContext(t.Context()) // the nil *Lease of a function without a lock
	if err := errors.Join(over.Release(t.Context()), l.Close()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dialect fence.Dialect
		ticket  fence.Ticket
		is      error
		text    string
	}{
		"no ticket":       {fence.SQLite, nil, fence.ErrNoTicket, "the ticket is missing"},
		"no lease":        {fence.SQLite, none, fence.ErrNoTicket, "the ticket is missing"},
		"a released one":  {fence.SQLite, over, distlock.ErrLost, "released"},
		"no token":        {fence.SQLite, ticket{strings.Repeat("x", 255), 0}, nil, `xx" has no token`},
		"no bigint":       {fence.SQLite, ticket{"tea", math.MaxInt64 + 1}, nil, "larger than a bigint"},
		"no key":          {fence.SQLite, ticket{"", 7}, nil, "a key of 0 bytes"},
		"a long key":      {fence.SQLite, ticket{strings.Repeat("x", 256), 7}, nil, "a key of 256 bytes"},
		"no dialect":      {0, ticket{"tea", 7}, nil, "Dialect(0) is unknown"},
		"another dialect": {4, ticket{"tea", 7}, nil, "Dialect(4) is unknown"},
	} {
		err := c.dialect.Check(t.Context(), untouched{nil, t}, c.ticket)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) || errors.Is(err, fence.ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Tokens are compared as numbers, of which some have more digits.
func TestLua(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer c.Close()
	for i, step := range []string{"9 ", "10 ", "9 STALE", "10 ", "09 NOTOKEN", "0 NOTOKEN", "12 ", "11 STALE"} {
		token, want, _ := strings.Cut(step, " ")
		err := redis.NewScript(fence.Lua).Run(t.Context(), c, []string{"stock"}, token).Err()
		if ok := err == redis.Nil; ok != (want == "") || !ok && !redis.HasErrorPrefix(err, want) { //nolint:errorlint // as the client returns it
			t.Errorf("step %d, token %s: %v", i, token, err)
		}
	}
}
