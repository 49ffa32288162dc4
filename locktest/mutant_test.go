package locktest_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/locktest"
)

// mutantEnv names the mutant that a child process runs the suite on.
const mutantEnv = "DISTLOCK_MUTANT"

// mutant is a backend that breaks one rule.
type mutant struct {
	name   string
	caught []string         // the cases that must fail, as group/case
	spoil  func(s *spoiled) // nil: a kvLock that breaks the rule of this name
}

// spoiled is an honest backend with methods that can be replaced.
type spoiled struct {
	*memlock.Backend

	tryAcquire, enqueue acquireFunc
	renew               renewFunc
	release             releaseFunc
	extend              extendFunc // of an extending
	turn                turnFunc
	revoke              revokeFunc
	inspect             inspectFunc
	limit               time.Duration          // 0: no limit
	features            func(*driver.Features) // changes them, if not nil
	granted             book                   // by TryAcquire
	self, peer          driver.Backend         // what the two processes use
}

func newSpoiled(m *mutant) *spoiled {
	b := memlock.New()
	s := &spoiled{
		Backend: b, tryAcquire: b.TryAcquire, enqueue: b.Enqueue, turn: b.Turn, renew: b.Renew, release: b.Release,
		revoke: b.Revoke, inspect: b.Inspect,
	}
	s.self, s.peer = s, s
	m.spoil(s)
	return s
}

// TestMutant runs the suite on backends that break a rule, and checks that it fails. A
// suite that never failed proves nothing.
func TestMutant(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range slices.Concat(mutants, kvMutants) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			patterns := make([]string, len(m.caught))
			for i, c := range m.caught {
				patterns[i] = "^TestSuiteOnMutant$/^" + strings.ReplaceAll(c, "/", "$/^") + "$"
			}
			cmd := exec.CommandContext(t.Context(), exe, "-test.v", "-test.timeout=1m", "-test.run="+strings.Join(patterns, "|"))
			cmd.Env = append(os.Environ(), mutantEnv+"="+m.name)
			output, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("no case has noticed\n%s", output)
			}
			for _, c := range m.caught {
				if !strings.Contains(string(output), "--- FAIL: TestSuiteOnMutant/"+c+" ") {
					t.Errorf("%s has not noticed\n%s", c, output)
				}
			}
			if strings.Contains(string(output), "panic:") {
				t.Errorf("the suite has crashed instead of saying what is wrong\n%s", output)
			}
			t.Logf("caught by %s", strings.Join(m.caught, ", "))
		})
	}
}

// TestSuiteOnMutant is what the child processes of TestMutant run.
func TestSuiteOnMutant(t *testing.T) {
	for _, m := range slices.Concat(mutants, kvMutants) {
		if m.name == os.Getenv(mutantEnv) {
			runOn(t, &m)
			return
		}
	}
	t.Skip("run by TestMutant")
}

func runOn(t *testing.T, m *mutant) {
	t.Helper()
	if m.spoil == nil {
		runOnKV(t, m.name)
		return
	}
	var s *spoiled // of the present case
	locktest.Run(t, func(*testing.T) driver.Backend {
		s = newSpoiled(m)
		return s.self
	}, locktest.Features{
		Bubble: true,
		Drop:   func(_ *testing.T, _ driver.Backend, key string) { s.Drop(key) },
		Peer:   func(*testing.T, driver.Backend) driver.Backend { return s.peer },
	})
}

// TestRunOnAbilities checks that the suite passes on the backends that the mutants with an
// optional ability are made of.
func TestRunOnAbilities(t *testing.T) {
	t.Run("extender", func(t *testing.T) { runOn(t, &mutant{spoil: (*spoiled).extends}) })
	t.Run("waker", func(t *testing.T) { runOn(t, &mutant{spoil: (*spoiled).wakes}) })
}
