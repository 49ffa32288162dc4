package spec

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// often are histories in which the processes do more, and crash less often.
var often = Random{Steps: 60, Step: "action other = any { process, process, process, process, process, process, fault, time }"}

// TestReplay replays random histories on the real Locker over memlock.
func TestReplay(t *testing.T) {
	often.Seed = 1
	if steps, followed := replay(t, opened["memlock"], often.Histories(t, 300)); followed < steps*8/10 {
		t.Error("fewer than four fifths of the steps were followed")
	}
}

// TestRecorded replays some histories of TestReplay, by number, over caslock, too. Each has
// something that the others lack. In caslock the place of a dead waiter stands for longer.
func TestRecorded(t *testing.T) {
	for name, open := range opened {
		t.Run(name, func(t *testing.T) { replay(t, open, recorded(t)) })
	}
}

func recorded(t *testing.T) (all []History) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		packed, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		trace, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		h, err := Read(trace)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, h)
	}
	return all
}

// replay replays histories on the real Locker. A kind of step that does not occur fails the test.
func replay(t *testing.T, open func() locks, all []History) (steps, followed int) {
	t.Helper()
	w := newWorld(t, open)
	steps, followed = walkAll(t, w, all, w.seen, 0)
	for what := range strings.SplitSeq("begins,asks,renews,releases,is answered,hears,hears nothing,is told,misses the message,hands over,writes,pauses,wakes up,ends,gives up,crashes,late,time", ",") {
		if w.seen[what] == 0 {
			t.Errorf("no process %s", what)
		}
	}
	return steps, followed
}
