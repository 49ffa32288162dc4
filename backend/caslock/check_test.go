package caslock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/caslock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// checked is a store that is unfit when it is checked first.
type checked struct {
	cells

	calls int
}

func (*checked) String() string { return "store at 127.0.0.1:7" }

func (c *checked) Check(context.Context) error {
	c.calls++
	time.Sleep(time.Second)
	if c.calls == 1 {
		return errors.New("it has no table")
	}
	return nil
}

// A store is checked before it is used, until it is fit.
func TestCheckBeforeTheFirstUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &checked{cells: cells{newServer(t)}}
		b := caslock.New(store, caslock.Config{})
		if err := b.(driver.Pinger).Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "store at 127.0.0.1:7: check: it has no table") {
			t.Error(err)
		}
		testkit.MustTry(t, b, testkit.NewRequest("a"))
		testkit.MustTry(t, b, testkit.NewRequest("b"))
		if store.calls != 2 {
			t.Errorf("%d checks", store.calls)
		}
	})
}

// A read that has no answer is repeated twice, and a write never: it may have been carried out.
func TestReadsAreRepeated(t *testing.T) {
	for silent, sent := range map[int]bool{0: true, 2: true, 3: false} {
		synctest.Test(t, func(t *testing.T) {
			s, asked := newServer(t), map[string]int{}
			s.fault = func(op, _, _ string) fault {
				asked[op]++
				return map[bool]fault{true: lost}[op == "swap" || asked[op] <= silent]
			}
			_, err := s.open("").TryAcquire(t.Context(), testkit.NewRequest("key"))
			if !errors.Is(err, errCut) || errors.Is(err, driver.ErrNotSent) == sent || asked["load"] != min(3, silent+1) || asked["swap"] > 1 {
				t.Errorf("%d reads without an answer: %v, %v", silent, err, asked)
			}
		})
	}
}

// careless is a store that ignores one of the conditions.
type careless struct {
	cells

	ignores string
}

func (c careless) Swap(ctx context.Context, key, version string, value []byte) (string, error) {
	if _, now, _ := c.Load(ctx, key); (version == "") == (c.ignores == "If-None-Match") && c.ignores != "" {
		version = now
	}
	return c.cells.Swap(ctx, key, version, value)
}

// A store that ignores one of the conditions keeps no locks, whether the cell is there or not.
func TestTry(t *testing.T) {
	for _, ignores := range []string{"", "If-Match", "If-None-Match"} {
		c := careless{cells{newServer(t)}, ignores}
		for range 2 {
			if err := caslock.Try(t.Context(), c); (err == nil) != (ignores == "") {
				t.Errorf("%q: %v", ignores, err)
			}
		}
	}
}
