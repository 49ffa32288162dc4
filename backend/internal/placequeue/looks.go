package placequeue

import (
	"context"
	"slices"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
)

// roundPause is the time from the begin of a round to the next.
const roundPause = 50 * time.Millisecond

// looks has waiters look in rounds. Each waiter looks at intervals, for a message that was
// lost. Thousands in a process would send so many requests that renewals wait behind
// them. A round has the looks of all who came since the last one began, in few requests,
// and begins when the last has ended.
type looks struct {
	look func(all []Obstacle, report func(i int, remains bool))
	turn chan struct{} // full while a round is in progress
	due  time.Time     // the next round; belongs to who has the turn
	next []aLook       // of the next round; the table's mutex guards it
}

type aLook struct {
	ctx      context.Context //nolint:containedctx // of the waiter
	obstacle Obstacle
	remains  chan bool
}

// remains reports whether the obstacle is still there, in a round that begins now or
// later. It returns false if ctx ends before that is known.
func (t *Table[T, S]) remains(ctx context.Context, o Obstacle) bool {
	one := aLook{ctx, o, make(chan bool, 1)}
	t.Lock()
	t.looks.next = append(t.looks.next, one)
	first := len(t.looks.next) == 1
	t.Unlock()
	if first {
		t.background.Run(t.round)
	}
	select {
	case remains := <-one.remains:
		return remains
	case <-ctx.Done():
	case <-t.background.Done():
	}
	return false
}

func (t *Table[T, S]) round() {
	l := &t.looks
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	clock.Sleep(t.background, time.Until(l.due))
	l.due = time.Now().Add(roundPause)
	t.Lock()
	round := slices.DeleteFunc(l.next, func(one aLook) bool { return one.ctx.Err() != nil })
	l.next = nil
	t.Unlock()
	all := make([]Obstacle, len(round))
	for i, one := range round {
		all[i] = one.obstacle
	}
	l.look(all, func(i int, remains bool) { round[i].remains <- remains })
}
