package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// faultCases are about a backend over a [Network]. Each call is made once for each of its
// requests, with a fault there.
var faultCases = []testCase{
	{
		name: "lost-request",
		explanation: "A connection that ends before the request arrives leaves the outcome open: the error must wrap neither ErrNotAcquired nor ErrLost. " +
			"The owner must get the key, or keep it, when it asks again.",
		run: func(f *fixture) { f.spoil(spoilnet.Lose, long, (*trial).alone) },
	},
	{
		name: "lost-reply",
		explanation: "A connection that ends after the store has acted leaves the outcome open, too. The owner must get the same grant again, " +
			"a renewal must not be Lost, and a Release that is repeated must not be ErrLost. Nothing was certainly not sent.",
		run: func(f *fixture) { f.spoil(spoilnet.Snap, long, (*trial).alone) },
	},
	{
		name:        "no-reply",
		explanation: "A request without a reply must end within a few seconds, with an outcome that is open as after a lost reply.",
		run:         func(f *fixture) { f.spoil(spoilnet.Deafen, long, (*trial).alone) },
	},
	{
		name: "late-copy",
		explanation: "A client may repeat a request that still arrives, after the owner has released the key. It must take nothing from the next holder, " +
			"and must not keep a free key for longer than a lease.",
		run: func(f *fixture) {
			f.spoil(spoilnet.Repeat, f.Lease, func(s *trial) { s.overtaken(false) })
			f.spoil(spoilnet.Repeat, f.Lease, func(s *trial) { s.overtaken(true) })
		},
	},
	{
		name: "late-request",
		explanation: "Any request of a call may be late: what an earlier one has read is old then. If the lease has ended and another owner has the key, " +
			"the other must keep it, and the owner must not be told that it has it.",
		run: func(f *fixture) { f.spoil(spoilnet.Hold, f.Lease, (*trial).late) },
	},
	{
		name: "overlapping-requests",
		explanation: "Two requests of an owner may overlap, if one of them was repeated. Neither may be refused because of the other: " +
			"a conflict in the store is neither ErrNotAcquired nor a loss.",
		run: func(f *fixture) { f.spoil(spoilnet.Hold, long, (*trial).overlapping) },
	},
	{
		name: "late-reply",
		explanation: "Grant.Sent must be before the request that was granted: the lease ends in the store TTL after that, however late the reply is. " +
			"Otherwise the owner believes that it has the key when another owner has it.",
		run: func(f *fixture) { f.spoil(spoilnet.Delay, f.Lease, (*trial).slow) },
	},
	{
		name: "silence",
		explanation: "If the servers are silent, every call must return within a few seconds, and soon after its context has ended, with an outcome that is open. " +
			"When they answer again, a lease that has not ended must be there.",
		run: silence,
	},
}

// trial is one call over a network with one fault.
type trial struct {
	*fixture // of another process, without faults
	over     *fixture
	network  *Network
	call     call
	request  driver.Request
	first    driver.Grant // zero if the owner did not have the key before
	start    time.Time
	done     chan struct{} // closed when the call has returned
	grant    driver.Grant
	err      error
}

// mostRequests is how many requests a call makes at most.
const mostRequests = 12

// spoil makes each call of a backend, with the fault at its first request, then at its second,
// and so on. The trial is run if the call has such a request.
func (f *fixture) spoil(fault spoilnet.Fault, ttl time.Duration, run func(s *trial)) {
	f.Helper()
	over, n := f.overNetwork()
	for i, ask := range f.modes() {
		for _, c := range calls {
			if !c.need.met(f) || i > 0 && (!f.Bubble || !c.asks && !c.extends || c.name == "Extend") {
				continue
			}
			for k, struck := 1, true; struck && k <= mostRequests; k++ {
				for _, holds := range []bool{false, true} {
					if !holds && !c.asks {
						continue
					}
					s := &trial{fixture: f, over: over, network: n, call: c, request: ask(f.key(), ttl), done: make(chan struct{})}
					*f.doing = fmt.Sprintf("%s in mode %d, a fault at request %d, holder %v", c.name, i, k, holds)
					if holds {
						s.first = over.regain(s.request)
					}
					if struck = s.begin(fault, k); struck {
						run(s)
					}
					s.end()
				}
			}
		}
	}
	*f.doing = ""
}

// begin starts the call, and reports whether the fault has happened.
func (s *trial) begin(fault spoilnet.Fault, k int) bool {
	s.Helper()
	before := s.network.struck()
	s.network.at(fault, k)
	s.start = time.Now()
	go func() {
		defer close(s.done)
		s.grant, s.err = s.call.run(s.over, s.Context(), s.request)
	}()
	for {
		select {
		case <-s.done:
			return s.network.struck() > before
		case <-time.After(s.tick()):
			if s.network.struck() > before {
				return true
			}
		}
	}
}

// end gives up the key.
func (s *trial) end() {
	s.Helper()
	s.network.heal()
	s.returned()
	_ = s.insist("Release", func() error { return s.over.backend.Release(s.Context(), s.request.Grant()) })
	delete(s.held, s.request.Owner)
}

// returned waits for the call.
func (s *trial) returned() {
	s.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		s.Fatalf("%s has not returned %v after it began", s.call.name, time.Since(s.start))
	}
}

// mustBeOpen checks the outcome of the call, while no other owner asks for the key.
func (s *trial) mustBeOpen() {
	s.Helper()
	s.returned()
	mustBeOpen(s.fixture, s.call.name, s.err)
}

func mustBeOpen(f *fixture, call string, err error) {
	f.Helper()
	if errors.Is(err, driver.ErrNotAcquired) || errors.Is(err, driver.ErrLost) {
		f.Errorf("no other owner asks for the key, and %s without an answer has the error %v", call, err)
	}
}

// alone: no other owner asks for the key.
func (s *trial) alone() {
	s.Helper()
	s.mustBeOpen()
	s.network.heal()
	last := s.first
	if errors.Is(s.err, driver.ErrNotSent) && s.first.Owner == "" {
		s.free(s.request.Key) // it must be so
	}
	if s.call.name != "Release" && s.call.name != "ForceRelease" {
		last = s.over.regain(s.request)
		if s.first.Owner != "" {
			s.mustRepeat(s.first, last)
		}
		s.mustKeep(s.over, last)
	} else if s.call.name == "ForceRelease" {
		_ = s.insist("ForceRelease", func() error { _, err := s.call.run(s.over, s.Context(), s.request); return err })
	}
	err := s.insist("Release", func() error { return s.over.backend.Release(s.Context(), last) })
	if err != nil && s.call.name != "ForceRelease" {
		s.Errorf("no other owner has asked for the key, and Release has the error %v", err)
	}
	next := s.try(s.fixture.request(s.request.Key, long))
	s.mustRise(last, next)
	s.release(next)
}

// overtaken: the owner releases the key, and another owner may have it, when the request
// arrives.
func (s *trial) overtaken(taken bool) {
	s.Helper()
	s.returned()
	if running(s.start, s.request.TTL) {
		s.mustBeOpen()
	}
	_ = s.insist("Release", func() error { return s.over.backend.Release(s.Context(), s.request.Grant()) })
	if s.call.name == "ForceRelease" {
		taken = false // it takes the key from any holder
	}
	var other driver.Grant
	if taken {
		other = s.seize(s.fixture.request(s.request.Key, long), s.request.TTL)
	}
	s.network.deliver()
	s.calm()
	if taken {
		s.mustKeep(s.fixture, other)
		s.release(other)
	}
	s.release(s.seize(s.fixture.request(s.request.Key, long), s.request.TTL))
}

// late: the lease ends, and another owner has the key, when the request arrives.
func (s *trial) late() {
	s.Helper()
	if s.call.name == "ForceRelease" {
		return // it takes the key from any holder
	}
	other := s.seize(s.fixture.request(s.request.Key, long), patience)
	got := time.Now()
	s.network.deliver()
	s.returned()
	if s.err == nil && s.call.extends && got.Sub(s.grant.Sent) < s.request.TTL-s.request.TTL/100-2*time.Millisecond {
		s.Errorf("another owner had the key %v after the request, and %s says that the owner has it for %v", got.Sub(s.grant.Sent), s.call.name, s.request.TTL)
	}
	s.calm()
	s.mustKeep(s.fixture, other)
	_ = s.insist("Release", func() error { return s.over.backend.Release(s.Context(), s.request.Grant()) })
	s.mustKeep(s.fixture, other)
	s.release(other)
	s.release(s.seize(s.fixture.request(s.request.Key, long), s.request.TTL))
}

// overlapping: the owner makes an attempt meanwhile.
func (s *trial) overlapping() {
	s.Helper()
	var meanwhile error
	again := make(chan struct{})
	go func() {
		defer close(again)
		_, meanwhile = s.over.backend.TryAcquire(s.Context(), s.request)
	}()
	select {
	case <-again:
	case <-time.After(20 * s.tick()): // it may wait for the same connection
	}
	s.network.deliver()
	<-again
	mustBeOpen(s.fixture, "TryAcquire", meanwhile)
	s.alone()
}

// slow: the reply comes when most of the lease is over.
func (s *trial) slow() {
	s.Helper()
	if !s.call.extends {
		return
	}
	time.Sleep(time.Until(s.start.Add(s.request.TTL * 3 / 4)))
	s.network.deliver()
	s.returned()
	if s.err != nil {
		return
	}
	other := s.seize(s.fixture.request(s.request.Key, long), s.request.TTL)
	s.mustHaveEnded(s.grant)
	s.release(other)
}

func silence(f *fixture) {
	over, n := f.overNetwork()
	ended, cancel := context.WithTimeout(f.Context(), f.Lease/4)
	defer cancel()
	r := f.request(f.key(), long)
	held := over.regain(r)
	n.hang()
	var all sync.WaitGroup
	for _, c := range calls {
		if !c.need.met(f) {
			continue
		}
		for ctx, limit := range map[context.Context]time.Duration{f.Context(): patience, ended: f.Lease/4 + f.soon()} {
			own := r
			if own.Key = f.key(); !c.asks {
				own.Key = r.Key
			}
			if c.name == "Release" || c.name == "ForceRelease" {
				own = f.request(f.key(), long)
			}
			all.Go(func() {
				start := time.Now()
				_, err := c.run(over, ctx, own)
				if d := time.Since(start); err == nil || d > limit {
					f.Errorf("%s without a server returned the error %v after %v", c.name, err, d)
				}
				mustBeOpen(f, c.name, err)
			})
		}
	}
	all.Wait()
	n.heal()
	f.mustKeep(over, held)
	_ = f.insist("Release", func() error { return over.backend.Release(f.Context(), held) })
	f.free(r.Key)
}

// overNetwork returns the fixture of another process, over a network of its own. The backend
// has had a key before.
func (f *fixture) overNetwork() (*fixture, *Network) {
	f.Helper()
	n := new(Network)
	over := *f
	over.use(f.Over(f.T, f.backend, n))
	f.Cleanup(n.heal) // before the backend is closed
	f.Cleanup(func() {
		if f.Failed() && *f.doing != "" {
			f.Logf("during %s", *f.doing)
		}
	})
	over.free(f.key())
	return &over, n
}

// regain makes attempts until the owner has a key that is free, or that it has already.
func (f *fixture) regain(r driver.Request) driver.Grant {
	f.Helper()
	for start := time.Now(); ; time.Sleep(f.tick()) {
		g, err := f.attempt(r)
		if err == nil {
			return g
		}
		took := time.Since(start)
		if errors.Is(err, driver.ErrNotAcquired) && took >= f.Settle || took > 2*patience {
			f.Fatalf("no other owner has the key, and TryAcquire has, after %v, the error %v", took, err)
		}
	}
}

// insist repeats a call until its outcome is known.
func (f *fixture) insist(what string, call func() error) error {
	f.Helper()
	for start := time.Now(); ; time.Sleep(f.tick()) {
		err := call()
		if err == nil || errors.Is(err, driver.ErrLost) || errors.Is(err, driver.ErrNotAcquired) {
			return err
		}
		if took := time.Since(start); took > 2*patience {
			f.Fatalf("%s, after %v: %v", what, took, err)
		}
	}
}

// mustKeep checks that the owner of g, in a process, has the key for a full lease.
func (f *fixture) mustKeep(process *fixture, g driver.Grant) {
	f.Helper()
	err := f.insist("Renew", func() error {
		result := process.renewUnder(f.Context(), []driver.Grant{g}, nil)[0]
		if result.Status == driver.Lost {
			return driver.ErrLost
		}
		return result.Err
	})
	if err != nil {
		f.Errorf("the holder has lost the key: %v", err)
	}
	f.busy(f.request(g.Key, long))
}
