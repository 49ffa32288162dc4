package spec

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// walker takes the steps of a history: it is the Locker over memlock, or the scripts of redislock.
type walker interface {
	// begin is called with the history that follows. end is called after its last step.
	begin(h History)
	end()

	// step takes the step between the first two states of rest. It returns how the code differs
	// from the second one, or that from here on it follows other rules.
	step(rest History) (parted bool, err error)
}

// walk has w follow a history, and returns for how many steps it did, and the first difference.
func walk(w walker, h History) (followed int, err error) {
	w.begin(h)
	defer w.end()
	for i := range h[1:] {
		parted, err := w.step(h[i:])
		if err != nil {
			story := ""
			for _, s := range h[1 : i+2] {
				story += fmt.Sprintf("\n%d %s at %d", s.Proc, s.What, s.Now)
			}
			return i, fmt.Errorf("step %d, %q of process %d: %w%s", i+1, h[i+1].What, h[i+1].Proc, err, story)
		}
		if parted {
			return i, nil
		}
	}
	return len(h) - 1, nil
}

// walkAll has w follow histories, and returns how many steps they have, and how many were followed.
// A difference fails the test, and so does a small number of kinds of what w has seen.
func walkAll(t *testing.T, w walker, all []History, seen map[string]int, kinds int) (steps, followed int) {
	t.Helper()
	whole := 0
	for n, h := range all {
		i, err := walk(w, h)
		if err != nil {
			t.Fatalf("history %d, %v", n+1, err)
		}
		steps += len(h) - 1
		if followed += i; i == len(h)-1 {
			whole++
		}
	}
	t.Logf("%d of %d histories to their end, %d of %d steps", whole, len(all), followed, steps)
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%6d %s", seen[what], what)
	}
	if len(seen) < kinds {
		t.Errorf("%d kinds of what happens, want %d: something does not happen any more", len(seen), kinds)
	}
	return steps, followed
}
