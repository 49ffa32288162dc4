package main

import (
	"context"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/child"
)

// TestStoppedHolder stops a process that has read the stock and is about to write it,
// for longer than its lease. Meanwhile another process sells. Then the write of the
// first is refused by its token, and the stock is exact. The log shows the same without
// the check of the token.
func TestStoppedHolder(t *testing.T) {
	t.Parallel() // most of its time is waiting
	for _, role := range []string{lateRole, uncheckedRole} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			backend, db := onPostgres(t)
			args := []string{"-backend", backend, "-db", db}
			quick := newClient(t, startProcess(t, args...).addresses)
			quick.set(t, shown, 10)
			slow, err := startLate(role, args...)
			if err != nil {
				t.Fatal(err)
			}
			defer slow.end()
			if held, err := slow.next(); err != nil || held.Token == 0 {
				t.Fatalf("%+v, %v", held, err)
			}
			if err := child.Stop(slow.Process); err != nil {
				t.Fatal(err)
			}
			if r := quick.orderHTTP(t.Context(), "", shown); r.err != nil || r.Remaining != 9 {
				t.Errorf("after the lease of the process that is stopped: %+v", r)
			}
			if err := child.Cont(slow.Process); err != nil {
				t.Fatal(err)
			}
			if err := slow.write(); err != nil {
				t.Fatal(err)
			}
			late, err := slow.next()
			if err != nil {
				t.Fatal(err)
			}
			it := quick.item(t, shown)
			t.Logf("of 10 there are %d left and %d sold; the late order: %s", it.Stock, it.Sold, late.Result)
			if role == lateRole && (it.Stock != 9 || it.Sold != 1 || !late.Fenced) {
				t.Error("the late order was not refused by its token")
			}
		})
	}
}

// withoutToken places orders that write under the lock, and whose token does not matter.
func withoutToken(sh *shop, l *distlock.Locker, lock distlock.Opts) distlock.Func[orderRequest, order] {
	lock.Params = distlock.By(func(r orderRequest) any { return r.SKU })
	return distlock.Wrap(l, func(ctx context.Context, r orderRequest) (order, error) { return sh.sell(ctx, r, nil) }, lock)
}
