package torture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// attempt is one acquisition of a key or of a set, and the work under it.
type attempt struct {
	worker  *worker
	parts   []part // one for each key
	cancel  context.CancelFunc
	ctx     context.Context // context of the acquisition
	giveUp  *time.Timer
	witness *witness
	shares  bool // others may have the keys at the same time
}

// part is the part of an attempt for one key.
type part struct {
	at    entry // the fields that all its entries share
	lease *distlock.Lease
}

// begin is called before the request.
func (w *worker) begin(life context.Context, a ask) *attempt {
	t := &attempt{
		worker: w, witness: newWitness(), giveUp: time.NewTimer(time.Hour),
		shares: a.opts.Mode == distlock.Shared || a.opts.Permits > 0,
	}
	t.ctx, t.cancel = context.WithCancel(context.WithValue(life, witnessKey{}, t.witness))
	t.tellBegin(a)
	if !a.healed {
		w.mu.Lock()
		w.waiting[t.number()] = t.cancel
		w.mu.Unlock()
	}
	if a.giveUp > 0 {
		t.giveUp = time.AfterFunc(a.giveUp, t.cancel)
	}
	return t
}

// tellBegin numbers the attempt and writes that it begins.
func (t *attempt) tellBegin(a ask) {
	t.parts = nil
	set := uint64(0)
	if len(a.keys) > 1 {
		set = t.worker.ids.Add(1)
	}
	for _, key := range a.keys {
		at := entry{Worker: t.worker.number, Key: key, Lease: t.worker.ids.Add(1), Healed: a.healed}
		t.parts = append(t.parts, part{at: at})
		at.Set, at.Leads, at.Mode, at.Permits = set, a.leads, a.opts.Mode, a.opts.Permits
		at.TTL, at.MinHold = int64(a.opts.KeyTimeout), int64(a.opts.MinHold)
		t.worker.tell(at, beginAcquire)
	}
}

// number identifies an attempt.
func (t *attempt) number() uint64 { return t.parts[0].at.Lease }

// settled is called when the acquisition has ended: from now on only the Locker cancels
// its context.
func (t *attempt) settled() {
	t.giveUp.Stop()
	t.worker.mu.Lock()
	delete(t.worker.waiting, t.number())
	t.worker.mu.Unlock()
}

// refused is called when the acquisition has failed.
func (t *attempt) refused(err error) {
	end := now()
	t.settled()
	t.tell(endAcquire, end, func(_ *part, e *entry) {
		e.Outcome, e.Err, e.Kept = t.refusal(err), err.Error(), t.witness.held()
	})
}

// refusal classifies the error of an acquisition.
func (t *attempt) refusal(err error) outcome {
	var e *distlock.Error
	ended := t.ctx.Err() != nil && errors.Is(err, t.ctx.Err()) // between two campaigns
	if errors.As(err, &e) && (errors.Is(err, distlock.ErrNotAcquired) || errors.Is(err, distlock.ErrUnavailable) || ended) {
		return failed
	}
	return undocumented
}

// granted is called when the acquisition has succeeded, with the lease of each key.
func (t *attempt) granted(leases []*distlock.Lease) {
	end := now()
	t.settled()
	for i, s := range leases {
		t.parts[i].lease = s
	}
	t.tell(endAcquire, end, func(p *part, e *entry) {
		e.Outcome = failed
		if s := p.lease; s != nil {
			e.Outcome, e.Token, e.Grant = ok, s.Token(), admin.Fingerprint(s)
			e.Handed, e.Until = t.witness.handedOver(s.Key()), until(s)
		}
	})
	t.worker.mu.Lock()
	t.worker.inside[t.number()] = t
	t.worker.mu.Unlock()
}

// work uses the locks, mostly for a short time, and returns when they are to be
// released.
func (t *attempt) work(ctx context.Context, valid func() bool) error {
	w, first := t.worker, t.parts[0].at
	told := make(chan struct{})
	untie := context.AfterFunc(ctx, func() {
		defer close(told)
		if errors.Is(context.Cause(ctx), distlock.ErrLost) {
			t.tell(sawLoss, 0, func(*part, *entry) {})
		}
	})
	longest := 20 * time.Millisecond
	if !first.Healed { // all workers take each key within healBound
		longest *= time.Duration(max(w.Slow, 1))
	}
	if t.shares {
		longest *= 10 // so that many share the key
	}
	length := time.Duration(w.rng.Int64N(1 + w.rng.Int64N(int64(longest)))) // short times are more likely
	if !first.Healed && w.rng.IntN(cmp.Or(w.Long, 50)) == 0 {               // long enough for renewals
		length = w.leaseOf(first.Key)*6/5 + time.Duration(w.rng.Int64N(int64(cmp.Or(w.Longer, 500*time.Millisecond))))
	}
	for start := time.Now(); ; {
		for _, p := range t.parts {
			if err := t.use(p); err != nil {
				return err
			}
		}
		left := length - time.Since(start)
		if left <= 0 {
			break
		}
		// Half of the attempts check the context.
		if first.Lease%2 == 0 && ctx.Err() != nil {
			break
		}
		time.Sleep(min(left, 100*time.Millisecond))
		if left > 100*time.Millisecond {
			t.tell(sawUntil, 0, func(p *part, e *entry) { e.Until = until(p.lease) })
		}
	}
	if !valid() { // the loss must be reported
		select {
		case <-told:
		case <-time.After(2 * tellBound):
		}
	}
	if !untie() {
		<-told
	}
	w.mu.Lock()
	delete(w.inside, t.number())
	w.mu.Unlock()
	t.tell(beginRelease, 0, func(p *part, e *entry) { e.Until = until(p.lease) })
	return nil
}

// use writes to the resource that the lease protects. A lease that shares the key reads
// it instead.
func (t *attempt) use(p part) error {
	w, at := t.worker, p.at
	at.ID = w.ids.Add(1)
	w.tell(at, beginUse)
	accepted, err := w.register.Use(testkit.Use{
		ID: useID(w.Proc, at.ID), Key: keyName(at.Key), Token: p.lease.Token(), Reads: t.shares,
	})
	if err != nil {
		return fmt.Errorf("using key %d: %w", at.Key, err)
	}
	at.What, at.Time, at.Outcome = endUse, now(), failed
	if accepted {
		at.Outcome = ok
	}
	w.journal.write(at)
	return nil
}

// released is called with the result of the release.
func (t *attempt) released(err error) {
	t.tell(endRelease, now(), func(p *part, e *entry) {
		e.Outcome = ok
		if err := errorOf(err, p.lease.Key()); err != nil {
			e.Outcome, e.Err = verdict(err), err.Error()
		}
	})
}

// tell writes an entry for each key. The time is at, or if that is 0, after add.
func (t *attempt) tell(what string, at int64, add func(p *part, e *entry)) {
	for i := range t.parts {
		e := t.parts[i].at
		e.What, e.Time = what, at
		if add(&t.parts[i], &e); at == 0 {
			e.Time = now()
		}
		t.worker.journal.write(e)
	}
}

// errorOf returns the error of a release for a key: the error of a set names the key that was
// lost, or joins several.
func errorOf(err error, key string) error {
	errs := []error{err}
	if joined, several := err.(interface{ Unwrap() []error }); several {
		errs = joined.Unwrap()
	}
	for _, err := range errs {
		if e := new(distlock.Error); !errors.As(err, &e) || e.Key == key {
			return err
		}
	}
	return nil
}

// verdict classifies the error of a release.
func verdict(err error) outcome {
	switch {
	case errors.Is(err, distlock.ErrUnavailable):
		return unknown
	case errors.Is(err, distlock.ErrLost):
		return failed
	default:
		return undocumented
	}
}

// until returns the end of the lease, or 0 if the lease is not valid.
func until(l *distlock.Lease) int64 {
	if t := l.Until(); l.Check() == nil {
		return t.UnixNano()
	}
	return 0
}

// tell writes an entry with the current time.
func (w *worker) tell(e entry, what string) {
	e.What, e.Time = what, now()
	w.journal.write(e)
}
