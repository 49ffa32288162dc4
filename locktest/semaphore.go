package locktest

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
)

var semaphoreCases = []testCase{
	{
		name:        "one-more-waits",
		explanation: "Without a free permit a request waits in the queue. Each Release must admit one waiter.",
		needs:       []need{needsQueue},
		run:         func(p *process) { inTurn(p, "ppp", "pp") },
	},
	{
		name:        "expired-permit",
		explanation: "When the lease of one holder has ended, its permit must be free, and no other.",
		run: func(p *process) {
			key := p.key()
			p.take(key, permits-1)
			g := p.try(p.permit(key, p.Lease))
			p.seize(p.permit(key, long), p.Lease)
			p.mustHaveEnded(g)
			p.busy(p.permit(key, long))
			mustReport(p, renewAll(p, g), driver.ErrLost)
		},
	},
	{
		name: "kept-permits",
		explanation: "Permits that are kept for different times become free one after the other. Neither a waiter nor RetryAfter may wait for the last, " +
			"and no TTL from Features.MinTTL on is refused.",
		needs: []need{needsQueue},
		run:   keptPermits,
	},
	{
		name:        "crowd",
		explanation: "Under a semaphore of n permits at most n functions of two processes may run at once, and each must get its turn.",
		run:         func(p *process) { crowd(p, driver.Sharing{Permits: permits}) },
	},
}

func keptPermits(p *process) {
	key := p.key()
	grants := p.take(key, permits)
	for i := range grants { // the first ends first, and a store may round up to a second
		grants[i].Retain, grants[i].TTL, grants[i].Sent = true, p.Lease*time.Duration(8*i+4), time.Now()
	}
	mustReport(p, renewAll(p, grants...), nil, nil, nil)
	start, first, other := time.Now(), grants[0].TTL+time.Second, p.last() // who does not know what the holder knows
	r := p.permit(key, max(p.can.MinTTL, time.Millisecond))
	_, err := other.attempt(r)
	if err == nil && !await.Running(grants[0].Sent, grants[0].TTL) {
		p.tooSlow()
	}
	if held := new(driver.HeldError); !errors.As(err, &held) || held.RetryAfter > first {
		p.Errorf("the first of %d permits ends in %v, and a request is refused with %v", permits, grants[0].TTL, err)
	}
	r = p.permit(key, long)
	g := queueUpLooking(other, grants[0], r, rarely).served(other)
	if d := time.Since(start); d > first+p.soon() {
		p.Errorf("the first of %d permits has ended after %v, and the waiter has one after %v", permits, grants[0].TTL, d)
	}
	other.release(g)
}
