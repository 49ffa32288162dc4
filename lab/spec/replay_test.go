package spec

import (
	"fmt"
	"strings"
	"testing"
)

// TestReplay replays random histories on the Locker and the store in memory.
func TestReplay(t *testing.T) {
	replayAll(t, Random{Seed: 1, Steps: 60, Step: "action other = any { process, process, process, process, process, process, fault, time }"}.Histories(t, 300))
}

func replayAll(t *testing.T, all []History) {
	t.Helper()
	w := newWorld(t)
	steps, followed, whole := 0, 0, 0
	for n, h := range all {
		i, err := w.replay(h)
		if err != nil {
			var story []string
			for _, s := range h[:i+1] {
				story = append(story, fmt.Sprintf("%d %s at %d", s.Proc, s.What, s.Now))
			}
			t.Fatalf("history %d: %v\n%s", n, err, strings.Join(story, "\n"))
		}
		steps += len(h) - 1
		followed += i
		if i == len(h)-1 {
			whole++
		}
	}
	t.Logf("%d of %d histories, %d of %d steps", whole, len(all), followed, steps)
	for what, n := range w.seen {
		t.Logf("%6d %s", n, what)
	}
}
