package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/distlock-go/distlock"
)

// longestLease is the longest that a worker asks for.
const longestLease = 2 * time.Second

func keyName(key int) string { return "torture:" + strconv.Itoa(key) }

// leaseOf is the lease of a key: the same for all, so that it is handed over.
func leaseOf(key int) time.Duration {
	return min(time.Second+time.Duration(key)*500*time.Millisecond, longestLease)
}

// handedKey is what a context has a *bool under that tells whether the lock came
// from a holder in the same process.
type handedKey struct{}

// worker is a goroutine that takes keys.
type worker struct {
	*kid
	number   int
	rng      *rand.Rand
	register *registerClient
}

// work takes keys at random until all is healed, and then each key.
func (w *worker) work(life context.Context) (err error) {
	if w.register, err = dialRegister(w.Register); err != nil {
		return err
	}
	defer w.register.conn.Close()
	for err == nil {
		select {
		case <-w.healed:
			for _, key := range w.rng.Perm(w.Keys) {
				if err := w.round(life, key, true); err != nil {
					return err
				}
			}
			return nil
		default:
			err = w.round(life, w.rng.IntN(w.Keys), false)
			time.Sleep(time.Duration(w.rng.IntN(10)) * time.Millisecond)
		}
	}
	return err
}

// round takes a key once, if it can, works under it, and gives it back.
func (w *worker) round(life context.Context, key int, healed bool) error {
	number := w.ids.Add(1)
	o := distlock.Opts{KeyTimeout: leaseOf(key), RetryInterval: 50 * time.Millisecond}
	handed := new(bool)
	ctx, cancel := context.WithCancel(context.WithValue(life, handedKey{}, handed))
	defer cancel()
	giveUp := time.NewTimer(time.Hour)
	if !healed {
		w.mu.Lock()
		w.waiting[number] = cancel
		w.mu.Unlock()
		switch p := w.rng.IntN(100); {
		case p < 10:
			o.RetryCount = 1
		case p < 20:
			o.RetryCount = 3
		case p < 40:
			giveUp.Stop()
			giveUp = time.AfterFunc(time.Duration(w.rng.Int64N(int64(300*time.Millisecond))), cancel)
		}
	}
	at := entry{Worker: w.number, Key: key, Lease: number, Healed: healed}
	w.tell(at, beginAcquire)
	held, err := w.locker.Acquire(ctx, keyName(key), o)
	end := at
	end.Time = now()
	giveUp.Stop()
	w.mu.Lock()
	delete(w.waiting, number) // from now on nobody but the kit ends ctx
	w.mu.Unlock()
	if err != nil {
		end.What, end.Outcome, end.Err = endAcquire, refusal(err), err.Error()
		w.journal.write(end)
		return nil
	}
	end.What, end.Outcome, end.Token, end.Handed = endAcquire, ok, held.Token(), *handed
	end.Until = w.until(held)
	w.journal.write(end)
	return w.hold(at, held)
}

// until returns until when the lease is valid on the clock that all share, or 0 if
// it is not.
func (w *worker) until(l *distlock.Lease) int64 {
	if t := l.Until(); l.Valid() {
		return w.anchor.at(t)
	}
	return 0
}

// tell writes an entry of now.
func (w *worker) tell(e entry, what string) {
	e.What, e.Time = what, now()
	w.journal.write(e)
}

// refusal judges the error of an acquisition.
func refusal(err error) outcome {
	var e *distlock.Error
	if errors.As(err, &e) && (errors.Is(err, distlock.ErrNotAcquired) || errors.Is(err, distlock.ErrUnavailable)) {
		return failed
	}
	return undocumented
}

// hold works under the lock, mostly for a short time, and gives it back.
func (w *worker) hold(at entry, held *distlock.Lease) error {
	told := make(chan struct{})
	untie := context.AfterFunc(held.Context(), func() {
		defer close(told)
		if errors.Is(context.Cause(held.Context()), distlock.ErrLost) {
			w.tell(at, sawLoss)
		}
	})
	length := time.Duration(w.rng.Int64N(1 + w.rng.Int64N(int64(20*time.Millisecond)))) // the shorter the likelier
	if !at.Healed && w.rng.IntN(50) == 0 {                                              // it takes renewals
		length = leaseOf(at.Key)*6/5 + time.Duration(w.rng.Int64N(int64(500*time.Millisecond)))
	}
	for start := time.Now(); ; {
		if err := w.write(at, held); err != nil {
			return err
		}
		left := length - time.Since(start)
		if left <= 0 {
			break
		}
		// Some look at the context, some do not.
		if at.Lease%2 == 0 && held.Context().Err() != nil {
			break
		}
		time.Sleep(min(left, 100*time.Millisecond))
		if left > 100*time.Millisecond {
			seen := at
			if seen.Until = w.until(held); seen.Until != 0 {
				w.tell(seen, sawUntil)
			}
		}
	}
	if !held.Valid() { // then somebody says so
		select {
		case <-told:
		case <-time.After(2 * tellBound):
		}
	}
	if !untie() {
		<-told
	}
	e := at
	e.Until = w.until(held)
	w.tell(e, beginRelease)
	err := held.Release(context.Background())
	e = at
	e.Time, e.What = now(), endRelease
	switch {
	case err == nil:
		e.Outcome = ok
	case errors.Is(err, distlock.ErrUnavailable):
		e.Outcome, e.Err = unknown, err.Error()
	case errors.Is(err, distlock.ErrLost):
		e.Outcome, e.Err = failed, err.Error()
	default:
		e.Outcome, e.Err = undocumented, err.Error()
	}
	w.journal.write(e)
	return nil
}

// write writes to the register.
func (w *worker) write(at entry, held *distlock.Lease) error {
	at.ID = w.ids.Add(1)
	w.tell(at, beginWrite)
	accepted, err := w.register.write(writeID{w.Proc, at.ID}, at.Key, held.Token())
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	at.What, at.Time, at.Outcome = endWrite, now(), failed
	if accepted {
		at.Outcome = ok
	}
	w.journal.write(at)
	return nil
}
