package queuemodel_test

import (
	"testing"

	q "github.com/distlock-go/distlock/backend/redislock/internal/queuemodel"
)

// TestModelFinds leaves out one rule at a time, and checks that the exploration finds
// the violation.
func TestModelFinds(t *testing.T) {
	for _, c := range []struct {
		name      string
		without   q.Rule
		processes int
		faults    q.Fault
		want      string
	}{
		// Without these a waiter waits without end.
		{"no polling", q.Polls, 2, q.Anything, q.NeverServed},
		{"the head of the queue gets no help", q.HelpsHead, 2, q.Anything, q.NeverServed},
		// These spare waiters the polling.
		{"a release does not pass on", q.Polls | q.PassesOn, 2, nearlyWell, q.NeverServed},
		{"a late release does not pass on", q.Polls | q.LateReleaseHelps, 2, nearlyWell, q.NeverServed},
		{"a grant that was never claimed is not passed on", q.Polls | q.PassesUnclaimed, 2, nearlyWell, q.NeverServed},

		// Without these there are two holders.
		{"the deadline counts from the reply", q.LateGrantsRefused, 2, q.Anything, q.TwoHolders},
		{"a release deletes any lock", q.ChecksOwner, 2, 0, q.TwoHolders},
		{"a claim does not extend", q.ClaimExtends, 2, q.Anything, q.TwoHolders},

		// Without these data remains.
		{"an owner that has released is not refused", q.GoneRefused, 2, q.Anything, q.LeftBehind},
		{"a release does not report attempts in flight", q.InDoubtTold, 2, q.Anything, q.LeftBehind},
		{"a release does not leave the queue", q.LeavesQueue, 2, q.Anything, q.LeftBehind},

		// Without these the order changes.
		{"a lock is taken back if its message had no receiver", q.UnheardKept, 2, q.Anything, q.PlaceLost},
		{"a repeated request goes to the end of the queue", q.KeepsTicket, 3, q.Anything, q.PlaceLost},
		{"a newcomer takes a free lock", q.QueueFirst, 2, q.Anything, q.QueueJumped},

		// A repeated attempt: the first reply was lost.
		{"an owner does not know its lock", q.KnowsOwner, 1, q.Anything, q.BehindItself},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := q.Model{Processes: c.processes, Rules: q.Protocol &^ c.without, Faults: c.faults}
			_, violation := q.Explore(m, nil)
			if violation == nil {
				t.Fatal("nothing was found")
			}
			t.Log(violation)
			if violation.What != c.want {
				t.Errorf("found that %s, instead of that %s", violation.What, c.want)
			}
		})
	}
}
