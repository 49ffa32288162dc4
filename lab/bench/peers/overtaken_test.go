package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestOvertaken(t *testing.T) {
	for name, test := range map[string]struct {
		order []int32
		some  int64
		most  int64
	}{
		"nobody":    {nil, 0, 0},
		"in order":  {[]int32{0, 1, 2, 3}, 0, 0},
		"one late":  {[]int32{1, 2, 3, 0}, 1, 3},
		"one early": {[]int32{3, 0, 1, 2}, 3, 1},
		"backwards": {[]int32{3, 2, 1, 0}, 3, 3},
		"gaps":      {[]int32{2, 5, 3, 9, 8}, 2, 1}, // numbers of callers that failed
	} {
		got := recorded(10, test.order).count()
		want := overtaken{Waits: int64(len(test.order)), Some: test.some, Most: test.most}
		if got != want {
			t.Errorf("%s: %+v instead of %+v", name, got, want)
		}
	}
}

// recorded returns the record of grants to callers with these numbers.
func recorded(come int64, order []int32) *arrivals {
	a := &arrivals{number: order}
	a.come.Store(come)
	a.granted.Store(int64(len(order)))
	return a
}

func TestOvertakenAtRandom(t *testing.T) {
	var most int64
	var order []int32
	for _, n := range rand.Perm(300) {
		by := int64(0)
		for _, before := range order {
			if before > int32(n) {
				by++
			}
		}
		most = max(most, by)
		order = append(order, int32(n))
	}
	if got := recorded(300, order).count(); got.Most != most {
		t.Errorf("%d instead of %d", got.Most, most)
	}
}

// The number comes from the time at which the caller began to wait.
func TestArriving(t *testing.T) {
	a := newArrivals(2)
	parent, cancel := context.WithCancel(t.Context())
	x, y := a.arriving(parent), a.arriving(parent)
	y.Done()
	x.Done()
	y.Done()
	if x.arrive() != 1 || y.arrive() != 0 {
		t.Errorf("%d and %d", x.arrive(), y.arrive())
	}
	child, stop := context.WithCancelCause(x)
	defer stop(nil)
	cancel()
	if <-child.Done(); child.Err() == nil {
		t.Error("does not end")
	}
}

// A caller that is served at once may never call Done. It arrived when it was served:
// after the callers that wait, which it has overtaken.
func TestArrivingWithoutWaiting(t *testing.T) {
	a := newArrivals(4)
	first, second, waits, third := a.arriving(t.Context()), a.arriving(t.Context()), a.arriving(t.Context()), a.arriving(t.Context())
	a.grant(first)
	a.grant(second)
	if got, want := a.count(), (overtaken{Waits: 2}); got != want {
		t.Errorf("one after the other: %+v instead of %+v", got, want)
	}
	waits.Done()
	a.grant(third)
	a.grant(waits)
	if got, want := a.count(), (overtaken{Waits: 4, Some: 1, Most: 1}); got != want {
		t.Errorf("past a waiter: %+v instead of %+v", got, want)
	}
}

// The count depends on the order in which callers are served, and not on when else they
// look at their contexts.
func TestOrderOfAQueue(t *testing.T) {
	const callers, loops = 20, 50
	for name, p := range map[string]*queuePeer{
		"in order":                        {},
		"in order, waiters look again":    {again: true},
		"in order, looks from the past":   {late: true},
		"last first":                      {lastFirst: true},
		"last first, waiters look again":  {lastFirst: true, again: true},
		"last first, looks from the past": {lastFirst: true, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p.free = true
				w := newWorker(task{Key: "k", Goroutines: callers, Hold: time.Millisecond, OwnKeys: true}, p, nil)
				r := w.do(t.Context(), order{Loops: loops, Order: true, Limit: time.Hour, Start: time.Now().UnixNano()})
				// A caller that is served at once is numbered when it has the lock. Another
				// may have come to wait in the meantime, which it seems to have overtaken.
				inOrder := r.Overtaken.Most <= 1
				if !r.Finished || r.Overtaken.Waits != callers*loops || inOrder == p.lastFirst {
					t.Errorf("%+v", r.Overtaken)
				}
				if p.atOnce < callers || callers*loops-p.atOnce < callers {
					t.Errorf("%d of %d were served at once", p.atOnce, callers*loops)
				}
			})
		})
	}
}

// queuePeer is a lock in this process. It looks at Done when a caller joins the queue,
// and not if the lock is free. A caller pauses after it has released the lock, so that
// the queue is sometimes empty.
type queuePeer struct {
	lastFirst bool // serve callers in the reverse order
	again     bool // look again while the caller waits, and when its turn has come
	late      bool // look again later, as a goroutine in the background does

	mu     sync.Mutex
	free   bool
	atOnce int // how many were served at once
	queue  []chan struct{}
}

const queuePause = 50 * time.Millisecond

func (p *queuePeer) Lock(ctx context.Context, _ string) (Held, error) {
	p.wait(ctx)
	if p.again {
		ctx.Done()
	}
	if p.late {
		time.AfterFunc(rand.N(queuePause), func() { ctx.Done() })
	}
	return Held{Unlock: func(context.Context) error {
		p.unlock()
		time.Sleep(rand.N(queuePause))
		return nil
	}}, nil
}

func (p *queuePeer) wait(ctx context.Context) {
	turn := p.join(ctx)
	for turn != nil {
		select {
		case <-turn:
			return
		case <-time.After(rand.N(queuePause)):
			if p.again {
				ctx.Done()
			}
		}
	}
}

// join returns nil if the lock was free.
func (p *queuePeer) join(ctx context.Context) (turn chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free {
		p.free = false
		p.atOnce++
		return nil
	}
	ctx.Done()
	turn = make(chan struct{}, 1)
	p.queue = append(p.queue, turn)
	return turn
}

func (p *queuePeer) unlock() {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := 0
	if p.lastFirst {
		next = len(p.queue) - 1
	}
	if len(p.queue) == 0 {
		p.free = true
		return
	}
	p.queue[next] <- struct{}{}
	p.queue = slices.Delete(p.queue, next, next+1)
}

func (p *queuePeer) Close() error { return nil }
