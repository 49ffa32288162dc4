package locktest

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var extendCases = []testCase{
	{
		name: "larger-tokens",
		explanation: "Extend must issue more tokens: as many as asked for or fewer, but at least one, each larger than all before. " +
			"The grant must be renewed and released as before, and the tokens of the next owner must be larger still.",
		run: func(p *process) {
			r := p.request(p.key(), long)
			r.Tokens = 8
			g := p.try(r)
			for _, n := range []int{8, 1, 64} {
				more := more(p, g, n)
				p.mustRise(g, more)
				g.LastToken = more.LastToken // as the Locker has it
				mustReport(p, renewAll(p, g), nil)
			}
			p.busy(p.request(r.Key, long))
			p.release(g)
			p.mustRise(g, p.try(p.request(r.Key, long)))
		},
	},
	{
		name: "others-wait",
		explanation: "While another owner waits in the queue, in any process, Extend must fail with an error that wraps ErrNotAcquired: " +
			"a process that hands the key from goroutine to goroutine would otherwise never give it back.",
		needs: []need{needsQueue},
		run: func(p *process) {
			key, g := p.hold(long)
			w := queueUp(p.last(), p.request(key, long))
			if _, err := p.extender.Extend(p.Context(), g, 4); !errors.Is(err, driver.ErrNotAcquired) || errors.Is(err, driver.ErrLost) {
				p.Errorf("another owner waits, and Extend returned the error %v", err)
			}
			mustReport(p, renewAll(p, g), nil) // and still holds the key
			w.mustWait(p)
			p.release(g)
			p.release(w.served(p))
			g = more(p, p.try(p.request(key, long)), 4) // the queue is empty now
			p.releaseLast(g)
		},
	},
	{
		name:        "refusal-changes-nothing",
		explanation: "An Extend that is refused must not extend the lease: the question must not make the waiters wait for longer.",
		needs:       []need{needsQueue},
		run: func(p *process) {
			key, g := p.hold(2 * p.Lease)
			w := queueUpLooking(p, g, p.request(key, long), p.Lease/2)
			for end := g.Sent.Add(6 * p.Lease); time.Now().Before(end); time.Sleep(p.Lease / 4) {
				select {
				case <-w.done:
					p.release(w.served(p))
					return
				default:
				}
				if _, err := p.extender.Extend(p.Context(), g, 4); err == nil {
					p.Fatal("Extend succeeded although another owner waits")
				}
			}
			p.Error("the lease does not end while Extend is refused again and again")
		},
	},
}
