package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/memlock"
)

var leads = regexp.MustCompile(`(?m)^(locker-\d\d): now I lead for ([\d,.]+) ms; I waited ([\d,.]+) ms, for (\S+)$`)

// follow checks that n lockers lead once each, and that each follows the one before it.
func follow(t *testing.T, text string, n int) {
	t.Helper()
	lines := leads.FindAllStringSubmatch(text, -1)
	var names, want []string
	for i := range n {
		want = append(want, lockerName(i))
	}
	before := "nobody"
	for _, m := range lines {
		if m[4] != before {
			t.Errorf("%s, after %s", m[0], before)
		}
		before = m[1]
		names = append(names, before)
	}
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("%q led, want %q:\n%s", names, want, text)
	}
}

// The store of one process passes the lock on in no time, so nobody waits longer than for
// the holds before it.
func TestElectionOfFifteen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := mustParse(t, "-lockers", "15", "-hold", "500ms..3500ms")
		var out bytes.Buffer
		c.elected = newElection(c.lockers, &out)
		p, store := newPlan(c), memlock.New()
		for range c.lockers {
			p.add(store, func() error { return nil }, true)
		}
		o, err := runPlan(t.Context(), c, p, true)
		if err != nil {
			t.Fatal(err)
		}
		wantIncrements(t, o, 15, 15)
		follow(t, out.String(), 15)
		got, ideal := statsOf(o.samples), statsOf(c.elected.ideal())
		if !slices.Equal(got.times, ideal.times) {
			t.Errorf("the samples took %v, want %v", got.times, ideal.times)
		}
		drawn := map[time.Duration]bool{}
		for _, term := range c.elected.terms {
			if drawn[term.hold] = true; term.hold < 500*time.Millisecond || term.hold > 3500*time.Millisecond {
				t.Errorf("%s leads for %v", lockerName(term.locker), term.hold)
			}
		}
		if len(drawn) < 2 {
			t.Errorf("all holds are %v", drawn)
		}
	})
}

func TestIdeal(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	e := &election{terms: []term{{2, at(0), 5 * time.Second}, {0, at(1), 2 * time.Second}, {1, at(9), time.Second}}}
	var got []string
	for _, s := range e.ideal() {
		got = append(got, fmt.Sprint(s.user, " ", s.elapsed))
	}
	if want := []string{"2 5s", "0 6s", "1 1s"}; !slices.Equal(got, want) { // the last one finds the lock free
		t.Errorf("got %q, want %q", got, want)
	}
}
