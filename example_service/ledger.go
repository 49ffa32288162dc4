package main

import (
	"context"
	"errors"
	"math"
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
	locked   tally
	unlocked tally
	locks    lockCounts
}

// tally counts the orders with the lock, or those without it, of the last sale in which
// there were any. So the results of the two can be compared.
type tally struct {
	sale, start int // as in the ledger

	sold    int // pieces
	soldOut int // orders
	failed  int // orders

	answers     int       // all orders that ended
	first, last time.Time // when the first of them began, and the last ended
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

// open returns the tally of the orders with or without the lock, for the current sale:
// the counts of an earlier sale become zero. The caller holds l.mu.
func (l *ledger) open(withLock bool, began time.Time) *tally {
	t := &l.unlocked
	if withLock {
		t = &l.locked
	}
	if t.sale != l.sale || t.first.IsZero() {
		*t = tally{sale: l.sale, start: l.start, first: began}
	}
	return t
}

// begin notes that orders with or without the lock begin.
func (l *ledger) begin(withLock bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open(withLock, time.Now())
}

// ordered counts an order that ended with err. An order that did not get its lock is
// counted by the hooks.
func (l *ledger) ordered(withLock bool, r orderRequest, began time.Time, err error) {
	if r.SKU != shown {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.open(withLock, began)
	t.ended()
	switch {
	case err == nil:
		t.sold += r.Quantity
	case errors.Is(err, errSoldOut):
		t.soldOut++
	default:
		t.failed++
	}
}

// state returns the state of the sale of it.
func (l *ledger) state(it item) state {
	l.mu.Lock()
	defer l.mu.Unlock()
	start := l.start
	if l.sale == 0 {
		start = it.Stock + it.Sold // right if all orders took the lock
	}
	return state{
		Item:     itemState{SKU: shown, Start: start, Stock: it.Stock, Sold: it.Sold, Oversold: max(0, it.Sold-start)},
		Locked:   l.locked.state(),
		Unlocked: l.unlocked.state(),
		Locks:    l.locks,
	}
}

// ended counts an order that has ended.
func (t *tally) ended() {
	t.answers++
	t.last = time.Now()
}

func (t *tally) state() tallyState {
	s := tallyState{Start: t.start, Sold: t.sold, SoldOut: t.soldOut, Failed: t.failed}
	if t.sale > 0 {
		s.Oversold = max(0, t.sold-t.start)
	}
	if d := t.last.Sub(t.first); d > 0 {
		s.PerSecond = math.Round(10*float64(t.answers)/d.Seconds()) / 10
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
				t := l.open(true, time.Now().Add(-i.Wait))
				t.ended()
				t.failed++
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
