package leasestate_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/compat"
	"github.com/distlock-go/distlock/internal/leasestate"
)

const ttl = 10 * time.Second

var (
	writer = compat.Class{TTL: ttl}
	reader = compat.Class{TTL: ttl, Sharing: driver.Sharing{Mode: driver.Shared}}

	limits = leasestate.Limits{MaxTime: time.Hour, Extend: true}
)

// lease is a state with holders that have names, and what they were told.
type lease struct {
	leasestate.State[string]
	t    *testing.T
	told []string

	ticket, newest uint64 // of the next holder, and of the last waiter
}

// newLease returns a lease with the tokens 1 to 4, or with none.
func newLease(t *testing.T, c compat.Class, l leasestate.Limits, tokens bool) *lease {
	t.Helper()
	s := &lease{t: t}
	g := driver.Grant{Key: "k", Owner: "o", TTL: ttl, Sent: time.Now()}
	if tokens {
		g.Token, g.LastToken = 1, 4
	}
	s.Init(time.Now(), g, c, l, s.lost)
	return s
}

func (s *lease) lost(h string, err error) func() {
	return func() { s.told = append(s.told, fmt.Sprint(h, ": ", err)) }
}

// bubble runs f in virtual time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

func (s *lease) assign(h string, maxHold time.Duration) (a leasestate.Assignment, moved bool) {
	s.t.Helper()
	now := time.Now()
	ok, moved := s.Assign(h, &a, now, now, maxHold)
	if !ok {
		s.t.Fatalf("not assigned to %s", h)
	}
	return a, moved
}

func (s *lease) transfers(want bool) <-chan struct{} {
	s.t.Helper()
	ok, pending := s.Transfer(time.Now(), s.ticket, s.newest)
	if ok != want {
		s.t.Fatalf("Transfer = %v, want %v", ok, want)
	}
	return pending
}

func (s *lease) attaches(want bool) {
	s.t.Helper()
	if got := s.Attach(time.Now(), s.ticket); got != want {
		s.t.Fatalf("Attach = %v, want %v", got, want)
	}
}

func TestTransferIsRefused(t *testing.T) {
	safe := clock.SafeTTL(ttl)
	second := leasestate.Limits{MaxTime: time.Second}
	for name, c := range map[string]struct {
		limits  leasestate.Limits
		after   time.Duration
		maxHold time.Duration
		lost    bool
		want    bool
	}{
		"at once":                  {limits: limits, want: true},
		"at half of the lease":     {limits: limits, after: safe / 2, want: true},
		"after half of the lease":  {limits: limits, after: safe/2 + 1},
		"lost":                     {limits: limits, lost: true},
		"within the time":          {limits: second, after: time.Second - 1, want: true},
		"after the time":           {limits: second, after: time.Second},
		"within MaxHold":           {limits: limits, maxHold: time.Second, after: time.Second - 1, want: true},
		"when MaxHold has run out": {limits: limits, maxHold: time.Second, after: time.Second},
		"no hand-overs":            {limits: leasestate.Limits{MaxTime: -1, Extend: true}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, shared := newLease(t, writer, c.limits, false), newLease(t, reader, c.limits, false)
				s.assign("a", c.maxHold)
				shared.assign("a", 0)
				time.Sleep(c.after)
				if c.lost {
					_ = s.Lose(driver.ErrLost)
					_ = shared.Lose(driver.ErrLost)
				}
				if pending := s.transfers(c.want); pending != nil {
					t.Error("a request is pending")
				}
				if c.maxHold == 0 { // a reader with MaxHold has a lease of its own
					shared.attaches(c.want)
				}
			})
		})
	}
}

func TestLeaseExpires(t *testing.T) {
	safe := clock.SafeTTL(ttl)
	for name, c := range map[string]struct {
		maxHold time.Duration
		first   time.Duration // the store has granted the key for so long
		renewed time.Duration // a request that succeeded was sent so long after the first
		failed  error         // of one that was sent with the first
		end     time.Duration
		late    time.Duration // from when the process was stopped
		due     time.Duration // the renewal; 0: it was sent
		want    string
	}{
		"the lease runs out": {end: safe, want: "lock lost: the lease of 10s ran out"},
		"a renewal failed": {
			failed: errors.New("broken\npipe"), end: safe,
			want: "lock lost: the lease of 10s ran out; the last renewal failed 8.9s ago: broken; pipe",
		},
		"another succeeded":        {first: 2 * time.Second, failed: errors.New("late"), renewed: 1, end: safe + 1, want: "lock lost: the lease of 10s ran out"},
		"MaxHold":                  {maxHold: time.Second, end: time.Second, want: "lock lost: held for MaxHold, 1s"},
		"MaxHold after the end":    {maxHold: time.Hour, end: safe, want: "lock lost: the lease of 10s ran out"},
		"a grant for a short time": {first: 2 * time.Second, end: 2 * time.Second, want: "lock lost: the lease of 2s ran out"},
		"the process was stopped": {
			end: safe, late: 12 * time.Second,
			want: "lock lost: the lease of 10s ran out 12s ago, while this process was stopped or its clock was set",
		},
		"the process did not run": {due: 3 * time.Second, end: safe, want: "lock lost: the lease of 10s ran out; a renewal was due 6.9s before, but this process did not run"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newLease(t, writer, limits, false)
				start := time.Now()
				if c.first > 0 {
					g := driver.Grant{Key: "k", Owner: "o", TTL: ttl, Sent: start, Until: start.Add(c.first)}
					s.Init(start, g, writer, limits, s.lost)
				}
				s.assign("a", c.maxHold)
				if c.due > 0 {
					s.Due(start.Add(c.due))
				}
				end, renewable := s.Until()
				if d := end.Sub(start); d != cmp.Or(c.first, c.end-c.renewed) || renewable != (c.maxHold != time.Second) {
					t.Errorf("until %v, renewable %v", d, renewable)
				}
				time.Sleep(time.Second - 1)
				if c.renewed > 0 {
					s.Extend(start.Add(c.renewed))
				}
				if c.failed != nil {
					s.NotRenewed(start, c.failed)
				}
				time.Sleep(c.end - time.Second)
				if err := s.Check(time.Now()); err != nil {
					t.Errorf("just before: %v", err)
				}
				time.Sleep(max(c.late, time.Nanosecond))
				_, err := s.HandOff(time.Now())
				if s.Check(time.Now()) != err || !errors.Is(err, driver.ErrLost) || err.Error() != c.want { //nolint:errorlint // the same
					t.Errorf("%v, want %s", err, c.want)
				}
				if !slices.Equal(s.told, []string{"a: " + c.want}) {
					t.Errorf("told %q", s.told)
				}
			})
		})
	}
}

func TestReadersShareALease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newLease(t, reader, limits, true)
		a, moved := s.assign("a", 0)
		if a.Token != 1 || a.HandedOver || moved {
			t.Errorf("the first: %+v, moved %v", a, moved)
		}
		s.attaches(true)
		s.attaches(true)
		s.attaches(true) // the four tokens are reserved
		s.attaches(false)
		if b, _ := s.assign("b", 0); b.Token != 2 || !b.HandedOver {
			t.Errorf("the second: %+v", b)
		}
		if last, over := s.Leave("a"); last || over != nil {
			t.Errorf("the first leaves: %v, %v", last, over)
		}
		if last, over := s.Leave(""); last || over != nil {
			t.Errorf("one that came and was not assigned leaves: %v, %v", last, over)
		}
		if last, over := s.Leave("b"); last || over != nil {
			t.Errorf("the second leaves while another attaches: %v, %v", last, over)
		}
		if last, over := s.Leave(""); !last || over != nil {
			t.Errorf("the last leaves: %v, %v", last, over)
		}
		if err := s.Check(time.Now()); !errors.Is(err, leasestate.ErrReleased) {
			t.Errorf("over: %v", err)
		}
		s.attaches(false)
		if len(s.told) > 0 {
			t.Errorf("told of a loss: %q", s.told)
		}
		many := newLease(t, reader, limits, false)
		many.assign("a", 0)
		for range 64 {
			many.attaches(true)
		}
		many.attaches(false) // writers elsewhere may have waited for long
	})
}

// A lease that a message granted is short at first. Half of that is enough for the next holder.
func TestShortLeaseIsHandedOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &lease{t: t}
		s.Init(time.Now(), driver.Grant{TTL: ttl, Sent: time.Now(), Until: time.Now().Add(time.Second)}, writer, limits, s.lost)
		s.assign("a", 0)
		time.Sleep(500 * time.Millisecond)
		s.transfers(true)
		s.assign("b", 0)
		time.Sleep(time.Millisecond)
		s.transfers(false)
	})
}
