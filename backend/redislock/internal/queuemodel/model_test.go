package queuemodel_test

import (
	"maps"
	"runtime/debug"
	"slices"
	"testing"

	q "github.com/distlock-go/distlock/backend/redislock/internal/queuemodel"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

const (
	// told are the rules for waiters that do not poll. Messages are enough as long as
	// only replies are lost. With a late call they are not: it may take the lock for a
	// process that was told before that the lock is held.
	told       = q.Protocol &^ q.Polls
	nearlyWell = q.ReplyLost

	// onTime has all faults in which a call does not overtake another.
	onTime = q.Anything &^ (q.CallLate | q.CallLost)
)

// TestModel checks that the protocol keeps its promises in every reachable state.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		name   string
		model  q.Model
		states int  // at least
		long   bool // and not under the race detector
	}{
		{"two/anything", q.Model{Processes: 2, Rules: q.Protocol, Faults: q.Anything}, 11_000, false},
		{"three/on time", q.Model{Processes: 3, Rules: q.Protocol, Faults: onTime}, 60_000, false},
		{"three/anything", q.Model{Processes: 3, Rules: q.Protocol, Faults: q.Anything}, 660_000, true},
		{"three/messages are enough", q.Model{Processes: 3, Rules: told, Faults: nearlyWell}, 19_000, false},
		{"four/messages are enough", q.Model{Processes: 4, Rules: told, Faults: nearlyWell}, 270_000, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && raceDetected() {
				t.Skip("takes minutes under the race detector")
			}
			if c.long {
				testmode.Long(t)
			}
			g, violation := q.Explore(c.model, nil)
			if violation != nil {
				t.Fatal(violation)
			}
			t.Logf("%d states", len(g.States))
			if len(g.States) < c.states {
				t.Errorf("%d states are fewer than %d: something does not happen any more", len(g.States), c.states)
			}
		})
	}
}

// TestModelTakesEveryStep checks that each kind of step of the model occurs.
func TestModelTakesEveryStep(t *testing.T) {
	taken := make(map[string]int)
	_, violation := q.Explore(q.Model{Processes: 2, Rules: q.Protocol, Faults: q.Anything}, func(_ q.State, s q.Step) {
		taken[s.What]++
	})
	if violation != nil {
		t.Fatal(violation)
	}
	want := []string{
		"asks", "asks and hears nothing", "asks, at last", "asks, which is stuck",
		"crashes", "gives up",
		"has its attempt lost", "has its claim window end", "has its lease end", "has its release lost",
		"has the lock", "hears the message", "is done, or past its deadline", "is granted the lock too late",
		"misses the message", "polls",
		"releases", "releases and hears nothing", "releases, at last", "releases, which is stuck",
		"the queue ends", "tries", "tries and hears nothing", "wants the lock",
	}
	if got := slices.Sorted(maps.Keys(taken)); !slices.Equal(got, want) {
		t.Errorf("took %q\ninstead of %q", got, want)
	}
	t.Log(taken)
}

func raceDetected() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
