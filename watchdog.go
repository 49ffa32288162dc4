package distlock

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/leasestate"
	"github.com/distlock-go/distlock/internal/wake"
)

// watchdog renews the leases of one Locker, and ends those whose time has run out. It is one
// goroutine with one schedule for all leases. Renewals are sent in batches, each on a
// goroutine of its own, so that a slow answer delays neither the deadlines nor the next
// batch. Each result counts as soon as the backend reports it, so that a slow server does
// not delay the results of another.
//
// The first lease starts the goroutine, which ends with the Locker.
type watchdog struct {
	backend driver.Backend
	ended   func(*leaseState) // is called when MaxHold has ended a lease
	tell    bool              // the holders are told of renewals
	now     func() time.Time
	epoch   time.Time       // from which the schedule counts
	wake    chan struct{}   // the schedule has a new first entry
	ctx     context.Context //nolint:containedctx // ends with the Locker
	done    sync.WaitGroup

	mu       sync.Mutex
	schedule schedule
	alarm    time.Duration // when the goroutine wakes by itself; 0: not planned
	started  bool
}

// clockCheck is how often the watchdog checks whether the machine was suspended: then its
// timers stood still, and the leases in the store did not.
const clockCheck = time.Second

// leaseState is the state of a lease of this process, and what the watchdog knows of it.
type leaseState struct {
	leasestate.State[*Lease]
	watch watch
}

// watch is what the watchdog knows about one lease. The watchdog's mutex guards it. Times count
// from its epoch.
type watch struct {
	at       time.Duration // the next thing to do
	renewAt  time.Duration
	index    int // in the schedule
	listed   bool
	renewing bool // a renewal is in progress
}

// add begins to watch a new lease.
func (dog *watchdog) add(st *leaseState) {
	dog.mu.Lock()
	defer dog.mu.Unlock()
	if !dog.started {
		dog.started = true
		dog.done.Go(dog.run)
	}
	first := st.FirstTTL()
	st.watch = watch{renewAt: dog.onGrid(st.Grant().Sent.Add(renewalPause(first)), first), listed: true}
	dog.insert(st)
}

// remove ends the watch over a lease. No renewal of it is sent any more, even if a batch
// with it is in progress.
func (dog *watchdog) remove(st *leaseState) {
	dog.mu.Lock()
	defer dog.mu.Unlock()
	if st.watch.listed {
		heap.Remove(&dog.schedule, st.watch.index)
		st.watch.listed = false
	}
}

// hasten renews st at once.
func (dog *watchdog) hasten(st *leaseState) {
	dog.mu.Lock()
	defer dog.mu.Unlock()
	dog.reschedule(st, time.Now())
}

// moved is called after the end of st has changed without a renewal.
func (dog *watchdog) moved(st *leaseState) {
	dog.mu.Lock()
	defer dog.mu.Unlock()
	dog.move(st)
}

// watched returns the leases that are watched.
func (dog *watchdog) watched() []*leaseState {
	dog.mu.Lock()
	defer dog.mu.Unlock()
	return slices.Clone(dog.schedule)
}

// errForced is why a lease is over that this process has taken away.
var errForced = fmt.Errorf("%w: ForceRelease has taken the key away", ErrLost)

// taken returns a function that ends the leases of the key as of now.
func (dog *watchdog) taken(key string) func() {
	states := slices.DeleteFunc(dog.watched(), func(st *leaseState) bool { return st.Key() != key })
	return func() {
		for _, st := range states {
			dog.remove(st)
			_ = st.Lose(errForced)
		}
	}
}

// renewalPause returns a third of the lease, less up to a tenth of that: leases that began
// together are not renewed together.
func renewalPause(ttl time.Duration) time.Duration {
	third := ttl / 3
	return third - rand.N(third/10+1)
}

// onGrid moves at back to a grid that divides a third of the lease by 64. Leases that are due
// at the same point of the grid are renewed in one batch.
func (dog *watchdog) onGrid(at time.Time, ttl time.Duration) time.Duration {
	return at.Sub(dog.epoch).Truncate(max(ttl/3/64, 1))
}

// reschedule sets the time of st's next renewal. The caller has the mutex.
func (dog *watchdog) reschedule(st *leaseState, renewAt time.Time) {
	st.watch.renewAt = dog.onGrid(renewAt, st.TTL())
	dog.move(st)
}

// move moves st to its new place in the schedule, if it is there. The caller has the mutex.
func (dog *watchdog) move(st *leaseState) {
	if st.watch.listed {
		heap.Remove(&dog.schedule, st.watch.index)
		dog.insert(st)
	}
}

// insert adds st to the schedule, by its next renewal or its end. The caller has the mutex.
func (dog *watchdog) insert(st *leaseState) {
	end, renewable := st.Until()
	st.watch.at = end.Sub(dog.epoch)
	if renewable && !st.watch.renewing {
		st.watch.at = min(st.watch.at, st.watch.renewAt)
	}
	heap.Push(&dog.schedule, st)
	if st.watch.renewing {
		st.Due(time.Time{})
	} else {
		st.Due(dog.epoch.Add(st.watch.renewAt))
	}
	if dog.schedule[0] == st && (dog.alarm == 0 || st.watch.at < dog.alarm) {
		wake.Signal(dog.wake)
	}
}

func (dog *watchdog) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	last := dog.now()
	for {
		now := dog.now()
		if clock.Jumped(last, now) { // the timers of leases are late
			for _, st := range dog.watched() {
				_ = st.Check(now) // ends it if its time has run out
			}
		}
		last = now
		for _, st := range dog.due(now) {
			_ = st.Expire(now)
			if _, renewable := st.Until(); !renewable {
				dog.ended(st)
			}
		}
		if pause, ok := dog.sleep(now); ok {
			timer.Reset(pause)
		} else {
			timer.Stop()
		}
		select {
		case <-dog.ctx.Done():
			return
		case <-dog.wake:
		case <-timer.C:
		}
	}
}

// sleep returns how long there is nothing to do, or false if the schedule is empty. When
// the last lease is gone it keeps an alarm for a while, so that locks that come and go one
// at a time do not wake the watchdog each time.
func (dog *watchdog) sleep(now time.Time) (time.Duration, bool) {
	dog.mu.Lock()
	defer dog.mu.Unlock()
	present := now.Sub(dog.epoch)
	switch {
	case len(dog.schedule) > 0:
		dog.alarm = min(dog.schedule[0].watch.at, present+clockCheck)
	case dog.alarm == 0:
		dog.alarm = present + clockCheck
	case dog.alarm <= present: // a while has passed
		dog.alarm = 0
		return 0, false
	}
	return dog.alarm - present, true
}

// due takes the leases whose time has run out from the schedule and returns them, and sends
// a renewal for each that is due.
func (dog *watchdog) due(now time.Time) (expired []*leaseState) {
	dog.mu.Lock()
	defer dog.mu.Unlock()
	var batch []*leaseState
	present := now.Sub(dog.epoch)
	for len(dog.schedule) > 0 && dog.schedule[0].watch.at <= present {
		st := dog.schedule[0]
		heap.Pop(&dog.schedule)
		end, renewable := st.Until()
		switch {
		case !end.After(now):
			st.watch.listed = false
			expired = append(expired, st)
			continue
		case !renewable || st.watch.renewing || st.watch.renewAt > present: // its end has moved on
		default:
			st.watch.renewing = true
			batch = append(batch, st)
		}
		dog.insert(st)
	}
	if batch != nil {
		dog.done.Go(func() { dog.renew(batch) })
	}
	return expired
}

// renew sends one batch and handles each result when it comes. If a result does not come,
// the renewal is tried again until the lease has run out.
func (dog *watchdog) renew(batch []*leaseState) {
	grants := make([]driver.Grant, len(batch))
	timeout := batch[0].TTL()
	for i, st := range batch {
		grants[i] = st.Grant()
		timeout = min(timeout, st.TTL())
	}
	sent := time.Now()
	ctx, cancel := context.WithTimeout(dog.ctx, timeout/3)
	defer cancel()
	var mu sync.Mutex // of reported
	reported := make([]bool, len(batch))
	report := func(i int, err error) {
		mu.Lock()
		first := !reported[i]
		reported[i] = true
		mu.Unlock()
		if first {
			dog.renewed(batch[i], sent, err)
		}
	}
	dog.backend.Renew(ctx, grants, report)
	for i := range batch {
		report(i, errNoAnswer)
	}
}

// renewed handles the result of a renewal that was sent then.
func (dog *watchdog) renewed(st *leaseState, sent time.Time, err error) {
	now, failed, lost := time.Now(), false, errors.Is(err, ErrLost)
	dog.mu.Lock()
	st.watch.renewing = false
	switch {
	case err == nil:
		st.Extend(sent)
		dog.reschedule(st, now.Add(renewalPause(st.TTL())))
	case lost:
	default:
		if st.watch.listed && dog.ctx.Err() == nil { // otherwise it is not to be renewed any more
			failed = true
			st.NotRenewed(sent, err)
		}
		dog.reschedule(st, now.Add(renewalPause(st.TTL())/4))
	}
	dog.mu.Unlock()
	switch {
	case lost:
		dog.remove(st)
		_ = st.Lose(taken(err))
	case dog.tell && (failed || err == nil):
		holders, left := st.Holders(time.Now())
		for _, s := range holders {
			s.renewed(failed, err, left)
		}
	}
}

// schedule is a heap of leases by the time of the next thing to do.
type schedule []*leaseState

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].watch.at < s[j].watch.at }

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].watch.index, s[j].watch.index = i, j
}

func (s *schedule) Push(x any) {
	st := x.(*leaseState)
	st.watch.index = len(*s)
	*s = append(*s, st)
}

func (s *schedule) Pop() any {
	last := len(*s) - 1
	st := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return st
}
