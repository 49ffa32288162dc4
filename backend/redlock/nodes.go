package redlock

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
)

// nodes are the masters of a Backend.
type nodes []*node

// bootstrapPause is how long bootstrap waits before it asks again.
const bootstrapPause = 10 * time.Millisecond

// bootstrap lets all nodes count from the start if all of them answer and none has a
// marker. If only some have a marker, the others have lost their data, or another
// process is bootstrapping. It asks again until the timeout, because a node that is
// used before it gets its marker looks like one that has lost its data.
func (ns nodes) bootstrap(ctx context.Context, timeout time.Duration) {
	for start := time.Now(); ; {
		switch marked, ok := ns.markers(ctx, false); {
		case !ok || marked == len(ns):
			return
		case marked == 0:
			ns.markers(ctx, true)
			return
		case time.Since(start) >= timeout:
			return
		}
		if !clock.Sleep(ctx, bootstrapPause) {
			return
		}
	}
}

// markers asks all nodes whether they have a marker. With set it marks the nodes that have
// none. It returns the number of nodes that had a marker, and false if a node did not
// answer.
func (ns nodes) markers(ctx context.Context, set bool) (marked int, ok bool) {
	answers := newBallot(len(ns))
	for _, n := range ns {
		n.marker(ctx, set, answers.cast)
	}
	ok = true
	for range ns {
		a := <-answers
		marked += int(a.value)
		ok = ok && a.err == nil
	}
	return marked, ok
}

// ping returns nil when a quorum has answered.
func (ns nodes) ping(ctx context.Context, quorum int) error {
	answers := newBallot(len(ns))
	for _, n := range ns {
		n.checkEviction()
		n.marker(ctx, false, answers.cast)
	}
	if err := ns.majority(ctx, answers, quorum, func(int64) bool { return true }); err != nil {
		return err
	}
	return ns.distinct()
}

// count passes the votes to add until that has decided, and returns the outcome.
func (ns nodes) count(ctx context.Context, b ballot, add func(vote) (decided bool, outcome error)) error {
	for {
		select {
		case v := <-b:
			if decided, outcome := add(v); decided {
				return outcome
			}
		case <-ctx.Done():
			return ns.silent()
		}
	}
}

// majority returns nil when a quorum says yes. If too few can, it returns the errors of
// the nodes, or errDenied if there are none.
func (ns nodes) majority(ctx context.Context, b ballot, quorum int, yes func(value int64) bool) error {
	var errs []error
	votes, pending := 0, cap(b)
	return ns.count(ctx, b, func(v vote) (bool, error) {
		pending--
		switch {
		case v.err != nil:
			errs = append(errs, v.err)
		case yes(v.value):
			votes++
		}
		switch {
		case votes+pending >= quorum:
			return votes >= quorum, nil
		case len(errs) == 0:
			return true, errDenied
		default:
			return true, &quorumError{len(ns), errs}
		}
	})
}

// silent returns the error for a caller whose context ends before a quorum answers.
func (ns nodes) silent() error {
	addrs := make([]string, len(ns))
	for i, n := range ns {
		addrs[i] = cmp.Or(n.server.Addr(), fmt.Sprint("node ", n.index))
	}
	return fmt.Errorf("redlock: no quorum of %s has answered", strings.Join(addrs, ", "))
}

// distinct returns an error if two nodes are one server, which has one vote. It knows
// only what nodes with the right to call INFO have answered.
func (ns nodes) distinct() error {
	for i, n := range ns {
		for _, other := range ns[:i] {
			if a, b := n.run.Load(), other.run.Load(); a != nil && b != nil && *a == *b {
				return n.explain(fmt.Errorf("it is the server of node %d, too: the addresses of two nodes lead to one server", other.index))
			}
		}
	}
	return nil
}
