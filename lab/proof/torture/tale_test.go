package torture

import (
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
)

// ms is the unit of the histories in tests.
const ms = int64(time.Millisecond)

// tale builds a history for a test.
type tale struct{ h *history }

func newTale() *tale {
	return &tale{&history{
		Keys: 1, Pauses: make(map[string][]window), Ends: map[string]farewell{"0.0": {Said: true}, "1.0": {Said: true}},
	}}
}

// held adds a lease with the times of its call, its return and its confirmed end in
// milliseconds. It is not released yet.
func (s *tale) held(proc string, token uint64, call, ret, until int64) *lease {
	l := &lease{
		entry: entry{Token: token, Until: until * ms, TTL: 1000 * ms, Grant: fmt.Sprint("grant ", len(s.h.Leases))},
		Proc:  proc, Sent: call * ms, Acquire: operation{Call: call * ms, Return: ret * ms, Outcome: ok},
	}
	s.h.Leases = append(s.h.Leases, l)
	return l
}

func (l *lease) used(o outcome, call, ret int64) *lease {
	l.Uses = append(l.Uses, &operation{Call: call * ms, Return: ret * ms, Outcome: o})
	return l
}

func (l *lease) released(o outcome, call, ret int64) *lease {
	l.Release = &operation{Call: call * ms, Return: ret * ms, Outcome: o}
	l.Expired = l.Until < call*ms
	if o == unknown {
		l.Release.Return = never
	}
	return l
}

func (l *lease) renewed(call, ret int64) *lease {
	l.Renewals = append(l.Renewals, &operation{Call: call * ms, Return: ret * ms, Outcome: ok})
	l.Until = max(l.Until, call*ms+l.TTL)
	return l
}

// handedBy marks l as handed over by o, in the same process.
func (l *lease) handedBy(o *lease) *lease {
	l.Handed, l.Grant = true, o.Grant
	return l
}

func (l *lease) shared() *lease {
	l.Mode = distlock.Shared
	return l
}

func (l *lease) permit(n int) *lease {
	l.Permits = n
	return l
}

func (l *lease) keeping(minHold int64) *lease {
	l.MinHold = minHold * ms
	return l
}

func (l *lease) leading() *lease {
	l.Leads = true
	return l
}

func (l *lease) inSet(number uint64) *lease {
	l.Set = number
	return l
}

// refused adds an acquisition that failed.
func (s *tale) refused(proc string, call, ret int64) *lease {
	l := &lease{Proc: proc, Acquire: operation{Call: call * ms, Return: ret * ms, Outcome: failed}}
	s.h.Leases = append(s.h.Leases, l)
	return l
}

// quiet is a history without violations: two processes take turns, and one of them
// hands the key over among its workers.
func quiet() *tale {
	s := newTale()
	s.held("0.0", 10, 0, 2, 1000).used(ok, 3, 4).released(ok, 5, 6)
	s.held("0.0", 11, 1, 6, 1000).used(ok, 7, 8).used(ok, 8, 9).released(ok, 10, 12).handedBy(s.h.Leases[0])
	s.held("1.0", 30, 3, 12, 1011).used(ok, 13, 14).released(ok, 15, 16)
	return s
}
