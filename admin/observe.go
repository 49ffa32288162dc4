package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/bridge"
)

// Observe returns the holders of a full key, now and after each change. It is for processes
// that do not compete for the key, but need to know, for example, who leads.
//
//	for lock, err := range admin.Observe(ctx, locker, "leader:report", 0) {
//
// The first element is the present state; Held is 0 if the key is free. The next ones come
// when the holders have changed, and not with renewals, waiters and hand-overs in a process.
// Observe looks at the key in the store every so often; 0 means each second. If the backend is
// a [driver.Waker] without a queue, it also looks when the key becomes free. It does not see
// what lasts for less than the time between two looks.
//
// If the store does not answer, the next element has the error, once, and when it answers
// again, the state. The sequence ends with ctx, and after an error that looking again does not
// help. It may be used once more, and then begins anew. The backend must be a
// [driver.Inspector].
func Observe(ctx context.Context, locker *distlock.Locker, key string, every time.Duration) iter.Seq2[driver.KeyInfo, error] {
	return func(yield func(driver.KeyInfo, error) bool) {
		err := bridge.CheckKey(key)
		if err == nil && every < 0 {
			err = &distlock.Error{Op: "observe", Key: key, Err: fmt.Errorf("every is negative: %v", every)}
		}
		if err != nil {
			yield(driver.KeyInfo{Key: key}, err)
			return
		}
		ctx, end := context.WithCancel(ctx)
		defer end()
		observe(ctx, locker, key, cmp.Or(every, time.Second), yield)
	}
}

func observe(ctx context.Context, locker *distlock.Locker, key string, every time.Duration, yield func(driver.KeyInfo, error) bool) {
	var freed <-chan driver.Grant // nil if the backend does not tell
	_ = whileOpen(locker, func(b driver.Backend) error {
		_, queues := b.(driver.Queuer)
		if w, ok := b.(driver.Waker); ok && !queues { // a queue tells those that have a place
			freed = w.Turn(ctx, driver.Request{Key: key})
		}
		return nil
	})
	timer := time.NewTicker(every)
	defer timer.Stop()
	known, failed := false, false // what was yielded last
	var before driver.KeyInfo
	for {
		now, err := look(ctx, locker, key)
		if ctx.Err() != nil {
			return
		}
		final := errors.Is(err, errors.ErrUnsupported) || errors.Is(err, distlock.ErrClosed)
		changed := !known || !sameHolders(&before, &now)
		if final || failed != (err != nil) || err == nil && changed {
			if !yield(now, err) || final {
				return
			}
		}
		known, failed, before = err == nil, err != nil, now
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case _, open := <-freed:
			if !open {
				freed = nil
			}
		}
	}
}

// look returns what is at the key.
func look(ctx context.Context, locker *distlock.Locker, key string) (driver.KeyInfo, error) {
	var found []driver.KeyInfo
	err := operate(ctx, locker, "observe", key, func(i driver.Inspector) (err error) {
		found, err = i.Inspect(ctx, key, 0)
		return err
	})
	if err != nil || len(found) == 0 {
		return driver.KeyInfo{Key: key}, err
	}
	return found[0], nil
}

// sameHolders reports whether the key has the same holders.
func sameHolders(a, b *driver.KeyInfo) bool {
	return a.Held == b.Held && a.Foreign == b.Foreign && slices.Equal(identities(a.Holders), identities(b.Holders))
}

// identities returns what tells the holders apart, sorted: renewals change their order.
func identities(holders []driver.HolderInfo) []string {
	ids := make([]string, len(holders))
	for i, h := range holders {
		if ids[i] = h.Owner; h.Owner == "" {
			ids[i] = fmt.Sprint(h.Holder, " ", h.Token) // of another library
		}
	}
	slices.Sort(ids)
	return ids
}
