package sqllock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// longKey returns a key that comes after all with lower numbers, so that its row does
// not fit into a page that has room.
func longKey(n int) string { return fmt.Sprintf("key-%05d-%0150d", n, 0) }

// TestDiskFull: the file of SQLite must not grow any more.
//
// Row 33 (sqllock): a new key is refused with the cause and never runs without its
// lock; what is held is renewed and released. Fails if an error of the database counts
// as another holder.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	roomy := sqlite.newStore(t)
	of := roomy.with("&_pragma=max_page_count(16)")
	b := of.open(t)
	var held []driver.Grant
	var full error
	for i := 0; full == nil; i++ {
		if i == 10_000 {
			t.Fatal("the file has no limit")
		}
		g, err := b.TryAcquire(t.Context(), request(longKey(i), time.Minute))
		if full = err; err == nil {
			held = append(held, g)
		}
	}
	if !unknown(full) || !strings.Contains(full.Error(), "full") {
		t.Errorf("the error is %v", full)
	}
	for i, got := range driver.RenewAll(t.Context(), b, held) {
		if got != nil {
			t.Errorf("renewal of %s: %v", held[i].Key, got)
		}
	}
	l := of.locker(t)
	keys := []string{held[0].Key + "0", longKey(60_000), longKey(60_001)}
	err := l.DoAll(t.Context(), keys, distlock.Opts{MaxWait: 100 * time.Millisecond}, func(context.Context) error {
		t.Error("it runs without its lock")
		return nil
	})
	if !errors.Is(err, distlock.ErrUnavailable) || !strings.Contains(err.Error(), "full") {
		t.Errorf("the Locker says %v", err)
	}
	for _, g := range held {
		testkit.MustRelease(t, b, g)
	}
	again := roomy.open(t)
	for _, key := range keys {
		testkit.MustRelease(t, again, testkit.MustTry(t, again, request(key, time.Minute)))
	}
	if infos, err := again.Inspect(t.Context(), "", 100); err != nil || len(infos) != 0 {
		t.Errorf("left behind: %v, %v", infos, err)
	}
}
