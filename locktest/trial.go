package locktest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// trial is one call over a network with one fault, and what another process sees of it.
type trial struct {
	*process // the other

	over    *process
	network *Network
	call    call
	grant   driver.Grant  // of the owner, or what it asks for
	holds   bool          // before the call
	start   time.Time     // of the call
	done    chan struct{} // closed when the call has returned
	got     driver.Grant
	err     error
}

// mostRequests is how many requests a call makes at most.
const mostRequests = 12

// spoil makes each call of a backend, with the fault at its first request, then at its second,
// and so on. For each, it runs a check. In real time the calls are made at once, by a process each.
func spoil(p *process, fault spoilnet.Fault, ttl time.Duration, check func(s *trial)) {
	p.Helper()
	var all sync.WaitGroup
	for _, c := range calls {
		switch {
		case !c.need.met(p):
		case p.Bubble:
			spoilCall(p, c, fault, ttl, check)
		default:
			all.Go(func() { spoilCall(p.apart(), c, fault, ttl, check) })
		}
	}
	all.Wait()
}

func spoilCall(p *process, c call, fault spoilnet.Fault, ttl time.Duration, check func(s *trial)) {
	p.Helper()
	over, n := p.overNetwork()
	for i, ask := range p.modes() {
		if i > 0 && (!p.Bubble || !c.asks && !c.extends || c.name == "Extend") {
			break
		}
		for _, holds := range []bool{false, true} {
			for k, struck := 1, holds || c.asks; struck && k <= mostRequests; k++ {
				p.begin(fmt.Sprintf("%s with a fault at write %d, by the holder: %v", c.name, k, holds))
				s := &trial{process: p, over: over, network: n, call: c, grant: ask(p.key(), ttl).Grant(), holds: holds, done: make(chan struct{})}
				if holds {
					s.grant = over.regain(asked(s.grant))
				}
				if struck = s.begin(fault, k); struck {
					check(s)
				}
				if s.end(); p.Failed() {
					return
				}
			}
		}
	}
	p.begin("")
}

// begin starts the call, and reports whether the fault has happened.
func (s *trial) begin(fault spoilnet.Fault, k int) bool {
	s.Helper()
	before := s.network.faults.Struck()
	s.network.faults.AtEach(fault, k)
	s.start = time.Now()
	go func() {
		defer close(s.done)
		s.got, s.err = s.call.run(s.over, s.Context(), s.grant)
	}()
	for {
		select {
		case <-s.done:
			return s.network.faults.Struck() > before
		case <-time.After(s.tick()):
			if s.network.faults.Struck() > before {
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
	_ = s.leave()
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

// leave releases the key until the outcome is known.
func (s *trial) leave() error {
	s.Helper()
	delete(s.held, s.grant.Owner)
	return s.insist("Release", func() error { return s.over.backend.Release(s.Context(), s.grant) })
}

// newcomer returns a request of another owner.
func (s *trial) newcomer() driver.Request { return s.request(s.grant.Key, long) }

// alone: no other owner asks for the key.
func (s *trial) alone() {
	s.Helper()
	s.returned()
	s.mustBeOpen(s.call.name, s.err)
	s.network.heal()
	if errors.Is(s.err, driver.ErrNotSent) && !s.holds {
		s.free(s.grant.Key) // it must be so
	}
	switch s.call.name {
	case "Release":
	case "ForceRelease":
		_ = s.insist("ForceRelease", func() error { _, err := s.call.run(s.over, s.Context(), s.grant); return err })
	default:
		again := s.over.regain(asked(s.grant))
		if s.holds {
			s.mustRepeat(s.grant, again)
		}
		s.grant = again
		mustKeep(s.over, again)
	}
	answered := s.call.name == "ForceRelease" || s.call.name == "Release" && s.err == nil
	if err := s.leave(); err != nil && !answered {
		s.Errorf("no other owner has asked for the key, and Release has the error %v", err)
	}
	next := s.seize(s.newcomer(), 0) // a copy of the request may hold the key for a moment
	s.mustRise(s.grant, next)
	s.release(next)
}

// overtaken: the owner has released the key when the request arrives. Another owner has it, or
// nobody.
func (s *trial) overtaken(taken bool) {
	s.Helper()
	s.returned()
	if await.Running(s.start, s.grant.TTL) {
		s.mustBeOpen(s.call.name, s.err)
	}
	_ = s.leave()
	if s.Bubble {
		time.Sleep(patience) // what the store does in the background is done
	}
	if !taken || s.call.name == "ForceRelease" { // which takes the key from any holder
		_ = s.network.faults.Send()
		s.calm()
		s.release(s.seize(s.newcomer(), s.grant.TTL))
		return
	}
	other := s.seize(s.newcomer(), s.grant.TTL)
	_ = s.network.faults.Send()
	s.calm()
	mustKeep(s.process, other)
	s.release(other)
	s.release(s.seize(s.newcomer(), s.grant.TTL))
}

// late: the lease has ended, and another owner has the key, when the request arrives.
func (s *trial) late() {
	s.Helper()
	if s.call.name == "ForceRelease" {
		return
	}
	other, taken := s.replaced()
	_ = s.network.faults.Send()
	s.returned()
	if d := taken.Sub(s.got.Sent); s.err == nil && s.call.extends && d < s.grant.TTL-await.Margin(s.grant.TTL) {
		s.Errorf("another owner had the key %v after the request, and %s says that the owner has it for %v", d, s.call.name, s.grant.TTL)
	}
	s.calm()
	mustKeep(s.process, other)
	_ = s.leave()
	mustKeep(s.process, other)
	s.release(other)
	s.release(s.seize(s.newcomer(), s.grant.TTL))
}

// replaced lets another owner get the key. If the call fails before that, the owner gives up
// what it may have.
func (s *trial) replaced() (other driver.Grant, at time.Time) {
	s.Helper()
	for start := time.Now(); time.Since(start) < patience; time.Sleep(s.tick()) {
		if other, err := s.attempt(s.newcomer()); err == nil {
			return other, time.Now()
		}
		select {
		case <-s.done:
			if s.err != nil {
				_ = s.network.faults.Send()
				_ = s.leave()
				return s.seize(s.newcomer(), s.grant.TTL), time.Now()
			}
		default:
		}
	}
	s.Fatalf("the lease was for %v, and another owner does not get the key for %v", s.grant.TTL, patience)
	return other, at
}

// overlapping: the owner makes an attempt meanwhile.
func (s *trial) overlapping() {
	s.Helper()
	if s.call.name == "Release" || s.call.name == "ForceRelease" {
		return
	}
	var err error
	again := make(chan struct{})
	go func() {
		defer close(again)
		_, err = s.over.backend.TryAcquire(s.Context(), asked(s.grant))
	}()
	select {
	case <-again:
	case <-time.After(20 * s.tick()): // it may wait for the same connection
	}
	_ = s.network.faults.Send()
	<-again
	s.mustBeOpen("TryAcquire", err)
	s.alone()
}

// slow: the reply comes when most of the lease is over.
func (s *trial) slow() {
	s.Helper()
	if !s.call.extends {
		return
	}
	time.Sleep(time.Until(s.start.Add(s.grant.TTL * 3 / 4)))
	_ = s.network.faults.Send()
	s.returned()
	if s.err == nil {
		other := s.seize(s.newcomer(), s.grant.TTL)
		s.mustHaveEnded(s.got)
		s.release(other)
	}
}
