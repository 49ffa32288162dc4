package torture

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestTorture checks that the locks keep their promises while processes, servers and
// connections fail, and that afterwards all workers are served and no data is left.
func TestTorture(t *testing.T) {
	testmode.Long(t)
	if *backendFlag != "" {
		torture(t, *backendFlag)
		return
	}
	for _, backend := range []string{"redislock", "sqllock", "etcdlock-cluster"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel() // it mostly waits
			torture(t, backend)
		})
	}
}

func torture(t *testing.T, backend string) {
	t.Helper()
	if testkit.Race && backend == "zklock" {
		t.Skip("go-zookeeper has a race of its own when it sets its watches again")
	}
	s, err := newSetup(backend)
	if err != nil {
		t.Fatal(err)
	}
	seed, length := *seedFlag, *durFlag
	if length == 0 { // for a run of all tests: the same each time
		length, s.pace, seed = shortForm, 350*time.Millisecond, max(seed, 1)
	}
	if seed == 0 {
		seed = uint64(rand.Uint32())
	}
	p := newPlan(seed, length, s)
	t.Logf("seed %d, %s for %v, the faults:\n%v", seed, s.backend, length, p)

	dir := historyDir(t)
	r := newRig(t, s, seed, dir)
	r.run(p, length)
	r.heal()
	left := r.waitEmpty()
	if s, ok := r.store.(*etcdStore); ok {
		var how string
		if !child.Within(30*time.Second, func() bool { how = s.differ(t); return how == "" }) {
			t.Errorf("the servers have different data: %s", how)
		}
	}
	h, err := r.history()
	if err != nil {
		t.Fatal(err)
	}
	h.Left = left
	vs, pieces := h.violations(pieceSize)
	told := make(counts)
	for _, v := range vs {
		if told[v.Check]++; told[v.Check] > 5 { // the report has the total
			continue
		}
		t.Errorf("%s: %s", v.Check, v.What)
	}
	t.Logf("seed %d, %s for %v\n%s", seed, s.backend, length, h.report(r.injected, vs, pieces))
	if t.Failed() {
		return
	}
	if len(h.Workers) != s.processes*s.workers {
		t.Errorf("%d workers were to be served", len(h.Workers)) // the checks had nothing to check
	}
}

// historyDir returns a directory that is removed if the test passes.
func historyDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "torture-") //nolint:usetesting // it must outlive a failed test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the history is in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}
