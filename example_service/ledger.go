package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

// shown is the item of the page.
const shown = "tea"

// ledger counts the orders and the locks of the item of the page, in this process. It
// is safe for concurrent use.
type ledger struct {
	key string // of the lock

	mu       sync.Mutex
	sale     int // how many sales were started; 0: the sale began in another process
	start    int // the stock with which the last one began
	locked   lane
	unlocked lane
	locks    lockCounts
}

// lane counts the orders of one way to order: those of the last sale in which there
// were any, so that the results of the two ways can be compared.
type lane struct {
	sale, start int // as in the ledger

	sold    int // pieces
	soldOut int // orders
	failed  int // orders
	recent  rate
}

// lockCounts are the locks since the last sale was started, and the current ones.
type lockCounts struct {
	Acquired   int `json:"acquired"`
	HandedOver int `json:"handed_over"`
	Lost       int `json:"lost"`
	Waiting    int `json:"waiting"`
	Held       int `json:"held"`
}

// newLedger returns a ledger for the item of the page, which lock protects.
func newLedger(lock distlock.Opts) (*ledger, error) {
	key, err := distlock.NewKeyBuilder(lock).Key(shown)
	return &ledger{key: key}, err
}

// reset notes that a sale was started.
func (l *ledger) reset(r stockRequest) {
	if r.SKU != shown {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sale++
	l.start = r.Stock
	l.locks.Acquired, l.locks.HandedOver, l.locks.Lost = 0, 0, 0
}

// of returns the lane of orders with or without the lock. Its counts are those of the
// current sale. The caller holds l.mu.
func (l *ledger) of(withLock bool) *lane {
	n := &l.unlocked
	if withLock {
		n = &l.locked
	}
	if n.sale != l.sale {
		*n = lane{sale: l.sale, start: l.start}
	}
	return n
}

// open sets a lane to zero if its orders are of an earlier sale.
func (l *ledger) open(withLock bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(withLock)
}

// ordered counts an order that ended with err. An order that did not get its lock is
// counted by the hooks.
func (l *ledger) ordered(withLock bool, r orderRequest, err error) {
	if r.SKU != shown {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.of(withLock)
	n.recent.add(time.Now())
	switch {
	case err == nil:
		n.sold += r.Quantity
	case errors.Is(err, errSoldOut):
		n.soldOut++
	default:
		n.failed++
	}
}

// state returns the state of the sale of it.
func (l *ledger) state(it item, now time.Time) state {
	l.mu.Lock()
	defer l.mu.Unlock()
	start := l.start
	if l.sale == 0 {
		start = it.Stock + it.Sold // right if all orders took the lock
	}
	return state{
		Item:     itemState{SKU: shown, Start: start, Stock: it.Stock, Sold: it.Sold, Oversold: max(0, it.Sold-start)},
		Locked:   l.locked.state(now),
		Unlocked: l.unlocked.state(now),
		Locks:    l.locks,
	}
}

func (n *lane) state(now time.Time) laneState {
	s := laneState{Sold: n.sold, SoldOut: n.soldOut, Failed: n.failed, PerSecond: n.recent.perSecond(now)}
	if n.sale > 0 {
		s.Oversold = max(0, n.sold-n.start)
	}
	return s
}

// hooks returns hooks that count the locks of the item. A failed acquisition is a failed
// order, whether it is that of the HTTP route, the gRPC method or the shop.
func (l *ledger) hooks() distlock.Hooks {
	count := func(i distlock.LockInfo, f func(*lockCounts)) {
		if i.Key == l.key {
			l.mu.Lock()
			defer l.mu.Unlock()
			f(&l.locks)
		}
	}
	return distlock.Hooks{
		Start: func(ctx context.Context, i distlock.StartInfo) context.Context {
			count(i.LockInfo, func(c *lockCounts) { c.Waiting++ })
			return ctx
		},
		Acquired: func(_ context.Context, i distlock.AcquiredInfo) {
			count(i.LockInfo, func(c *lockCounts) {
				c.Waiting--
				if i.Reentrant {
					return
				}
				c.Held++
				c.Acquired++
				if i.HandedOver {
					c.HandedOver++
				}
			})
		},
		Failed: func(_ context.Context, i distlock.FailedInfo) {
			count(i.LockInfo, func(c *lockCounts) {
				c.Waiting--
				n := l.of(true)
				n.recent.add(time.Now())
				n.failed++
			})
		},
		Lost: func(_ context.Context, i distlock.LostInfo) {
			count(i.LockInfo, func(c *lockCounts) { c.Lost++ })
		},
		Released: func(_ context.Context, i distlock.ReleasedInfo) {
			if !i.Reentrant {
				count(i.LockInfo, func(c *lockCounts) { c.Held-- })
			}
		},
	}
}

// rate counts what happened in the last second, in tenths of a second.
type rate struct {
	counts [10]int
	last   int64 // the last tenth, counted from 1970
}

func (r *rate) add(now time.Time) {
	r.forget(now)
	r.counts[r.last%10]++
}

// perSecond returns how often add was called in the last second.
func (r *rate) perSecond(now time.Time) (n int) {
	r.forget(now)
	for _, c := range r.counts {
		n += c
	}
	return n
}

// forget sets the counts of what is older than a second to zero.
func (r *rate) forget(now time.Time) {
	tenth := now.UnixMilli() / 100
	if tenth < r.last || tenth-r.last >= 10 { // also after a clock was set back
		*r = rate{last: tenth}
	}
	for r.last < tenth {
		r.last++
		r.counts[r.last%10] = 0
	}
}
