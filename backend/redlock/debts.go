package redlock

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// A node is owed so many releases at most. It is far behind then, and leases
	// end by themselves.
	maxDebts = 10_000

	firstPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// debts are the releases that a node did not answer. One goroutine for each such
// node repeats them, until they are answered or the leases have run out.
type debts struct {
	mu     sync.Mutex
	owed   []owed
	known  map[debtID]bool // what is owed: a release that is repeated is owed once
	paying bool
}

type owed struct {
	debt
	until time.Time
}

type debtID struct {
	key, owner         string
	generation, doubts int
}

func (d *debt) id() debtID { return debtID{d.key, d.owner, d.generation, d.doubts} }

// keep replaces what is owed.
func (ds *debts) keep(rest []owed, gone ...owed) {
	for i := range gone {
		delete(ds.known, gone[i].id())
	}
	clear(ds.owed[len(rest):])
	ds.owed = rest
}

// giveBack releases on one node, and again in the background until that is
// certain. It tells found, if that is not nil, what became of the first time.
func (b *Backend) giveBack(ctx context.Context, i int, d debt, found func(what int64, err error)) {
	n := b.nodes[i]
	until := time.Now().Add(onNode(d.ttl))
	op := func(ctx context.Context, c redis.UniversalClient) ([]int64, error) {
		return run(ctx, c, releaseScript, 1, d.keys(), d.args())
	}
	send(ctx, n, b.limit(d.ttl), op, func(reply []int64, sure bool, err error) {
		if !sure && d.generation != everything {
			b.claims.linger(d.claim, onNode(d.ttl))
		}
		if err != nil {
			b.owe(n, owed{d, until})
		} else {
			b.settle(i, &d)
		}
		switch {
		case found == nil:
		case err != nil:
			found(0, err)
		default:
			found(reply[0], nil)
		}
	})
}

func (b *Backend) owe(n *node, o owed) {
	ds := &n.debts
	ds.mu.Lock()
	if ds.known[o.id()] {
		ds.mu.Unlock()
		b.claims.drop(o.claim)
		return
	}
	if len(ds.owed) >= maxDebts {
		ds.mu.Unlock()
		b.settle(n.index, &o.debt)
		return
	}
	if ds.known == nil {
		ds.known = make(map[debtID]bool)
	}
	ds.known[o.id()] = true
	ds.owed = append(ds.owed, o)
	begin := !ds.paying
	ds.paying = true
	ds.mu.Unlock()
	if begin && !b.background.Run(func(ctx context.Context) { b.pay(ctx, n) }) {
		b.forgive(n)
	}
}

// pay works off the debts to n.
func (b *Backend) pay(ctx context.Context, n *node) {
	pause := firstPause
	for {
		select {
		case <-ctx.Done():
			b.forgive(n)
			return
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
		due := b.due(n)
		if len(due) == 0 {
			if b.debtFree(n) {
				return
			}
			continue
		}
		if b.repay(ctx, n, due) {
			pause = firstPause
		} else {
			pause = min(2*pause, longestPause)
		}
	}
}

// due forgives what has run out and returns a batch of the rest.
func (b *Backend) due(n *node) []owed {
	ds := &n.debts
	now := time.Now()
	ds.mu.Lock()
	var over []owed
	kept := ds.owed[:0]
	for _, o := range ds.owed {
		if now.Before(o.until) {
			kept = append(kept, o)
		} else {
			over = append(over, o)
		}
	}
	ds.keep(kept, over...)
	due := append([]owed(nil), kept[:min(len(kept), batch)]...)
	ds.mu.Unlock()
	for i := range over {
		b.settle(n.index, &over[i].debt)
	}
	return due
}

// settle ends a debt that was paid, or is too old to matter.
func (b *Backend) settle(i int, d *debt) {
	if burial := d.burial(); burial > 0 && d.generation != everything {
		b.claims.bury(d.claim, onNode(burial))
	}
	b.claims.settle(d.claim, i, d.doubts)
}

// repay sends the first of the debts, which due has returned.
func (b *Backend) repay(ctx context.Context, n *node, due []owed) bool {
	var keys []string
	var args []any
	for i := range due {
		keys = append(keys, due[i].keys()...)
		args = append(args, due[i].args()...)
	}
	op := func(ctx context.Context, c redis.UniversalClient) ([]int64, error) {
		return run(ctx, c, releaseScript, len(due), keys, args)
	}
	paid := make(chan bool, 1)
	send(ctx, n, b.opts.nodeTimeout, op, func(_ []int64, _ bool, err error) { paid <- err == nil })
	if !<-paid {
		return false
	}
	ds := &n.debts
	ds.mu.Lock()
	ds.keep(ds.owed[:copy(ds.owed, ds.owed[len(due):])], due...)
	ds.mu.Unlock()
	for i := range due {
		b.settle(n.index, &due[i].debt)
	}
	return true
}

// debtFree ends the paying if nothing is owed.
func (b *Backend) debtFree(n *node) bool {
	ds := &n.debts
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if len(ds.owed) > 0 {
		return false
	}
	ds.owed, ds.known, ds.paying = nil, nil, false
	return true
}

// forgive drops all debts to n.
func (b *Backend) forgive(n *node) {
	ds := &n.debts
	ds.mu.Lock()
	dropped := ds.owed
	ds.owed, ds.known, ds.paying = nil, nil, false
	ds.mu.Unlock()
	for _, o := range dropped {
		b.claims.settle(o.claim, n.index, o.doubts)
	}
}
