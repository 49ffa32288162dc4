package locktest

import (
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// networkCases are about a backend over a [Network]. Each call is made once for each of its
// requests, with a fault there.
var networkCases = []testCase{
	{
		name: "lost-request",
		explanation: "A connection that ends before the request arrives leaves the outcome open: the error must wrap neither ErrNotAcquired nor ErrLost. " +
			"The owner must get the key, or keep it, when it asks again.",
		run: func(p *process) { spoil(p, spoilnet.Lose, long, (*trial).alone) },
	},
	{
		name: "lost-reply",
		explanation: "A connection that ends after the store has acted leaves the outcome open, too. The owner must get the same grant again, " +
			"a renewal must not be Lost, and a Release that is repeated must not be ErrLost. Nothing was certainly not sent.",
		run: func(p *process) { spoil(p, spoilnet.Snap, long, (*trial).alone) },
	},
	{
		name: "no-reply",
		explanation: "A request without a reply must end within a few seconds, with an outcome that is open as after a lost reply. " +
			"So must a request that was carried out before the servers became silent.",
		run: func(p *process) {
			spoil(p, spoilnet.Deafen, long, (*trial).alone)
			spoil(p, spoilnet.Deafen, long, func(s *trial) {
				s.network.faults.Hang(true)
				s.alone()
			})
		},
	},
	{
		name: "late-copy",
		explanation: "A client may repeat a request that still arrives, after the owner has released the key. It must take nothing from the next holder, " +
			"and must not keep a free key for longer than a lease.",
		run: func(p *process) {
			spoil(p, spoilnet.Repeat, p.Lease, func(s *trial) { s.overtaken(false) })
			spoil(p, spoilnet.Repeat, p.Lease, func(s *trial) { s.overtaken(true) })
		},
	},
	{
		name: "late-request",
		explanation: "Any request of a call may be late: what an earlier one has read is old then. If the lease has ended and another owner has the key, " +
			"the other must keep it, and the owner must not be told that it has it.",
		run: func(p *process) { spoil(p, spoilnet.Hold, p.Lease, (*trial).late) },
	},
	{
		name: "overlapping-requests",
		explanation: "Two requests of an owner may overlap, if one of them was repeated. Neither may be refused because of the other: " +
			"a conflict in the store is neither ErrNotAcquired nor a loss.",
		run: func(p *process) { spoil(p, spoilnet.Hold, long, (*trial).overlapping) },
	},
	{
		name: "late-reply",
		explanation: "Grant.Sent must be before the request that was granted: the lease ends in the store TTL after that, however late the reply is. " +
			"Otherwise the owner believes that it has the key when another owner has it.",
		run: func(p *process) { spoil(p, spoilnet.Delay, p.Lease, (*trial).slow) },
	},
	{
		name: "silence",
		explanation: "If the servers are silent, every call must return within a few seconds, and soon after its context has ended, with an outcome that is open. " +
			"When they answer again, a lease that has not ended must be there.",
		run: silence,
	},
	{
		name:        "callers-end",
		explanation: "A caller whose context ends while the servers are silent must be told of its end and the cause, and of the server.",
		run:         callersEnd,
	},
	{
		name: "interrupted-watch",
		explanation: "A release while the connection of a watch is broken must not be missed: the channel must receive a value when the watch has begun again, " +
			"or be closed. The waiter would sleep until the lease of a holder ends that has gone.",
		needs: []need{needsWake},
		run:   interrupted,
	},
	{
		name: "holder-is-told",
		explanation: "If a process cannot reach the servers, or hears nothing from them, its lease must be over before another owner gets the key: " +
			"Check says so, the context has ended with ErrLost, and the other keeps the key when the network is back.",
		run: cutOff,
	},
	{
		name: "last-words",
		explanation: "What a release sends must have left the process when Close returns, so that a process that ends wakes the waiters of others: " +
			"a client may keep it in a buffer.",
		needs: []need{needsWake, needsClose},
		run: func(p *process) {
			over, n := p.overNetwork()
			g := over.regain(p.request(p.key(), long))
			w := queueUp(p, p.request(g.Key, long))
			over.release(g)
			over.close()
			n.faults.Hang(true)
			p.release(w.served(p))
		},
	},
}

func silence(p *process) {
	over, n := p.overNetwork()
	held := over.regain(p.request(p.key(), long))
	n.faults.Hang(true)
	var all sync.WaitGroup
	for _, c := range calls {
		if !c.need.met(p) {
			continue
		}
		g := held
		if c.asks || c.name == "Release" || c.name == "ForceRelease" {
			g = p.request(p.key(), long).Grant()
		}
		all.Go(func() {
			start := time.Now()
			_, err := c.run(over, p.Context(), g)
			if d := time.Since(start); err == nil || d > patience {
				p.Errorf("%s without a server returned the error %v after %v", c.name, err, d)
			}
			p.mustBeOpen(c.name, err)
		})
	}
	if p.waker != nil {
		start := time.Now()
		over.waker.Turn(p.Context(), p.request(held.Key, long))
		if d := time.Since(start); d > p.soon() {
			p.Errorf("Turn without a server has taken %v", d)
		}
	}
	all.Go(func() { // what needs many requests does not wait for each
		many := make([]driver.Grant, 5000)
		for i := range many {
			many[i] = p.request(p.key(), long).Grant()
		}
		start := time.Now()
		_ = renewUnder(p.Context(), over, many, nil)
		if d := time.Since(start); d > patience {
			p.Errorf("Renew of %d leases without a server took %v", len(many), d)
		}
	})
	all.Wait()
	n.heal()
	mustKeep(over, held)
	_ = p.insist("Release", func() error { return over.backend.Release(p.Context(), held) })
	p.free(held.Key)
}

func cutOff(p *process) {
	deafen := func(n *Network) { // requests still arrive on the connections that are open
		n.faults.Refuse(true)
		n.faults.Deafen()
	}
	for _, cut := range []func(*Network){func(n *Network) { n.faults.Hang(true) }, deafen} {
		over, n := p.overNetwork()
		lease, err := locker(p, over.backend, distlock.Config{}).Acquire(p.Context(), p.key(), distlock.Opts{KeyTimeout: p.Lease})
		if err != nil {
			p.Fatalf("Acquire of a free key: %v", err)
		}
		cut(n)
		r := p.request(lease.Key(), long)
		next, refused := p.attempt(r)
		for start := time.Now(); refused != nil && time.Since(start) < 3*p.Lease; next, refused = p.attempt(r) {
			time.Sleep(p.tick())
		}
		p.mustBeLost(lease.Check())
		select {
		case <-lease.Context().Done():
		case <-time.After(p.soon()):
			p.Error("the lease of the holder is over, and its context has not ended")
		}
		n.heal()
		_ = lease.Release(p.Context())
		if refused != nil { // the session of the holder goes on
			next = p.seize(r, patience)
		}
		mustReport(p, renewAll(p, next), nil)
		p.releaseLast(next)
	}
}

func interrupted(p *process) {
	over, n := p.overNetwork()
	key, g := p.hold(long)
	r := p.request(key, long)
	_, err := over.ask(p.Context(), r)
	p.mustBeHeld(err)
	turn := over.waker.Turn(p.Context(), r)
	for begun, quiet := time.Now(), false; !quiet && time.Since(begun) < patience; {
		select {
		case _, open := <-turn:
			_, err := over.ask(p.Context(), r)
			if p.mustBeHeld(err); !open {
				turn = over.waker.Turn(p.Context(), r)
			}
		case <-time.After(p.Lease):
			quiet = true
		}
	}
	n.faults.Refuse(true)
	n.faults.Sever()
	time.Sleep(p.Lease)
	p.release(g)
	n.faults.Refuse(false)
	for served, end := false, time.After(patience); !served; {
		select {
		case g, open := <-turn:
			served = g.Owner != "" || p.insist("Enqueue", func() error { _, err := over.ask(p.Context(), r); return err }) == nil
			if !open {
				turn = over.waker.Turn(p.Context(), r)
			}
		case <-end:
			p.Fatalf("the waiter has missed the release for %v", patience)
		}
	}
	_ = p.insist("Release", func() error { return over.backend.Release(p.Context(), r.Grant()) })
	p.free(key)
}
