package sqllock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// errHeld undoes a transaction because another owner has one of the keys.
var errHeld = errors.New("held")

// TryAcquireAll implements [driver.AllAcquirer], in one transaction.
func (b *Backend) TryAcquireAll(ctx context.Context, rs []driver.Request) ([]driver.Grant, error) {
	for i := range rs {
		if err := checkRequest(&rs[i]); err != nil {
			return nil, err
		}
	}
	if err := b.ready(ctx); err != nil {
		return nil, err
	}
	order := make([]int, len(rs)) // the same in all processes, so that none waits for another in a circle
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(rs[i].Key, rs[j].Key) })

	grants := make([]driver.Grant, len(rs))
	next := make([][]string, len(rs))
	var held *driver.HeldError
	decided := false
	sent := time.Now()
	err := b.transact(ctx, forAttempt, func(ctx context.Context, q querier) error {
		held = nil
		for _, i := range order {
			r := &rs[i]
			if r.Sharing() == (driver.Sharing{}) {
				last, err := b.issueIn(ctx, q, b.sql.acquire, acquireValues(r))
				if err != nil {
					return err
				}
				if last != 0 {
					grants[i] = grantOf(r, last)
					continue
				}
			}
			var err error
			next[i], err = b.changeIn(ctx, q, r.Key, true, nil, func(e *entry) {
				g, ok := e.acquire(r)
				if grants[i] = g; !ok {
					held = e.heldError(r.Sharing())
				}
			})
			if err != nil {
				return err
			}
			if held != nil {
				return errHeld
			}
		}
		decided = true
		return nil
	})
	if held != nil && errors.Is(err, errHeld) {
		return nil, held
	}
	if err != nil {
		for i := range rs {
			if decided {
				b.doubtAttempt(rs[i].Owner)
			}
		}
		return nil, err
	}
	for i := range rs {
		grants[i].Sent = sent
		b.wakes.wakeOwners(next[i])
	}
	return grants, nil
}
