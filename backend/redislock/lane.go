package redislock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// lane is the way to one server. Operations that meet share a flight: whoever
// comes while few are under way takes all that is queued and flies it at once, so
// one that is alone goes alone, on its caller's goroutine, and waits for nobody.
// While enough are under way the others queue, and fly together.
//
// Four are enough for a server nearby: it then has something to do while the
// client reads what it answered, a few callers need not wait for one another, and
// more would only make the flights smaller.
// Where a flight takes long there may be more, in proportion: what costs time
// there is the way, and it can be shared. And where those under way take
// unusually long, the reason may be their connections, and others may have more
// luck.
type lane struct {
	fleet  *fleet
	server *rediskit.Server

	mu      sync.Mutex
	queue   []*op
	aloft   int            // flights under way
	started time.Time      // the last of them
	usual   time.Duration  // what a flight takes
	orphans map[string]int // operations under way that were left, by owner

	renewals chan struct{} // one element for each renewal in progress
}

func newLane(f *fleet, s *rediskit.Server) *lane {
	return &lane{fleet: f, server: s, renewals: make(chan struct{}, maxRenewals)}
}

const (
	minAloft  = 4
	maxAloft  = 16
	shortHaul = 250 * time.Microsecond // up to so long these are enough
	maxFlight = 128                    // operations
)

// free reports whether there may be one flight more. The caller has the mutex.
func (l *lane) free() bool {
	enough := min(max(minAloft, int(minAloft*l.usual/shortHaul)), maxAloft)
	return l.aloft < enough || l.aloft < maxAloft && time.Since(l.started) > shortLimit
}

// do carries out o and returns what became of it. It returns when that is known
// or when ctx ends; then it may still be carried out, unless it is sure that not.
//
// Once it was sent, it takes no longer than the limit. Behind a server that is
// slow it may have to wait as long again.
func (l *lane) do(ctx context.Context, o *op) answer {
	if err := ctx.Err(); err != nil {
		return answer{err: err, sure: true}
	}
	o.sure = true
	l.mu.Lock()
	o.place = queued
	l.queue = append(l.queue, o)
	batch := l.depart()
	l.mu.Unlock()
	for {
		if len(batch) > 0 {
			l.fly(ctx, batch)
		}
		e := l.wait(ctx, o)
		if e == done {
			break
		}
		l.mu.Lock()
		if e == lead {
			batch = l.board(o)
		} else {
			o.pressed = true
			batch = l.depart()
		}
		l.mu.Unlock()
	}
	a := o.answer
	if !o.abandoned {
		l.fleet.ops.put(o)
	}
	a.err = l.fleet.ownError(ctx, l.server, a.err)
	return a
}

// depart returns what the caller is to fly, if there may be one flight more. The
// caller has the mutex.
func (l *lane) depart() []*op {
	if !l.free() {
		return nil
	}
	batch := l.board(nil)
	if len(batch) > 0 {
		l.aloft++
	}
	return batch
}

// wait waits for what o's caller has to do next. If ctx ends, o is done.
func (l *lane) wait(ctx context.Context, o *op) event {
	select {
	case s := <-o.events: // looking at ctx costs something
		return s
	default:
	}
	var enough <-chan time.Time
	if l.holdsUp(o) {
		enough = time.After(l.fleet.limit / 4)
	}
	select {
	case s := <-o.events:
		return s
	case <-enough:
		return press
	case <-ctx.Done():
		if !l.leave(ctx, o) {
			return <-o.events
		}
		return done
	}
}

// board takes what is queued, up to what fits into one flight: for leader, if
// that was told to lead, or for whoever comes. Another who was told to lead flies
// by itself. The caller has the mutex.
func (l *lane) board(leader *op) []*op {
	batch := make([]*op, 0, min(len(l.queue), maxFlight))
	kept := l.queue[:0]
	for _, o := range l.queue {
		switch {
		case o.place == left:
		case len(batch) == maxFlight, o != leader && (o.place == leading || l.mustWait(o)):
			kept = append(kept, o)
		default:
			o.place = flying
			batch = append(batch, o)
		}
	}
	clear(l.queue[len(kept):])
	l.queue = kept
	l.started = time.Now()
	return batch
}

// mustWait reports whether o is a release of an owner of whom something is under
// way that nobody waits for: it could overtake that. It waits for a quarter of the
// limit only, because the scripts can deal with it, though not with very many. The
// caller has the mutex.
func (l *lane) mustWait(o *op) bool {
	return len(l.orphans) > 0 && o.how == "" && !o.pressed && l.orphans[o.owner] > 0
}

func (l *lane) holdsUp(o *op) bool {
	if o.how != "" {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return o.place == queued && l.mustWait(o)
}

// land ends a flight, which took so long if that is known, and sees to it that
// there is another if one is needed. It comes after those who were on it were
// told, so that of all who are woken the one who is to fly the next runs first.
func (l *lane) land(took time.Duration) {
	l.mu.Lock()
	if took > 0 {
		l.usual += (min(took, shortLimit) - l.usual) / 8
	}
	next := slices.IndexFunc(l.queue, func(o *op) bool { return o.place == queued && !l.mustWait(o) })
	if next < 0 {
		l.aloft--
		l.mu.Unlock()
		return
	}
	if first := l.queue[next]; l.fleet.near() {
		first.place = leading
		l.mu.Unlock()
		first.events <- lead
		return
	}
	batch := l.board(nil)
	l.mu.Unlock()
	l.flyFar(batch)
}

// leave is called when o's caller waits no longer. It returns false if o is done
// already.
func (l *lane) leave(ctx context.Context, o *op) bool {
	l.mu.Lock()
	was := o.place
	if was == flown {
		l.mu.Unlock()
		return false
	}
	o.place, o.abandoned = left, true
	o.answer = answer{err: ctx.Err(), sure: was != flying && o.sure}
	if was == flying {
		if l.orphans == nil {
			l.orphans = make(map[string]int)
		}
		l.orphans[o.owner]++
	}
	l.mu.Unlock()
	if was == leading {
		l.land(0) // somebody else must fly
	}
	return true
}

// deliver tells the callers what became of their operations. It forgets the
// batch. If that was abandoned, something may still read the operations.
func (l *lane) deliver(batch []*op, answers []answer, abandoned bool) {
	l.mu.Lock()
	told := batch[:0]
	for i, o := range batch {
		if o.place == left {
			l.bury(o)
			continue
		}
		o.place, o.abandoned = flown, abandoned
		answers[i].sure = answers[i].sure && o.sure
		o.answer = answers[i]
		told = append(told, o)
	}
	l.mu.Unlock()
	for _, o := range told {
		o.events <- done
	}
}

// bury forgets an operation that was left while it was under way. The caller has
// the mutex.
func (l *lane) bury(o *op) {
	if l.orphans[o.owner]--; l.orphans[o.owner] == 0 {
		delete(l.orphans, o.owner)
	}
}

// still returns those of a batch that somebody waits for.
func (l *lane) still(batch []*op) []*op {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(batch, func(o *op) bool {
		if o.place == left {
			l.bury(o)
		}
		return o.place == left
	})
}

// strand ends what is queued, because the server has not answered for so long
// that nothing more is to be expected.
func (l *lane) strand() {
	l.mu.Lock()
	var told []*op
	for _, o := range l.queue {
		if o.place == queued && !l.mustWait(o) {
			o.place = flown
			o.answer = answer{err: l.fleet.noAnswer(l.server), sure: o.sure}
			told = append(told, o)
		}
	}
	l.queue = slices.DeleteFunc(l.queue, func(o *op) bool { return o.place == flown })
	l.mu.Unlock()
	for _, o := range told {
		o.events <- done
	}
}
