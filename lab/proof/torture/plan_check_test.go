package torture

import (
	"testing"
	"time"
)

// TestPlan checks that a seed determines the plan, that each kind of fault occurs, and
// that two faults never affect the same process, the same server, or two servers of a
// quorum at the same time.
func TestPlan(t *testing.T) {
	const length = time.Minute
	for _, backend := range backends {
		s, err := newSetup(backend)
		if err != nil {
			t.Fatal(err)
		}
		p := newPlan(7, length, s)
		if again := newPlan(7, length, s); again.String() != p.String() {
			t.Errorf("%s: one seed, two plans:\n%v\n%v", backend, p, again)
		}
		if other := newPlan(8, length, s); other.String() == p.String() {
			t.Errorf("%s: two seeds, one plan", backend)
		}
		seen := make(counts)
		well := make(map[int]time.Duration)
		const servers = -1
		for _, f := range p {
			seen[f.fault.name]++
			target, rest := servers, time.Duration(0)
			if f.fault.ofProcess {
				target = f.target
			} else if f.fault.restarts {
				rest = s.afterRestart
			}
			if f.at < well[target] {
				t.Errorf("%s: %s at %v, but %d is spoilt until %v", backend, f.fault.name, f.at, target, well[target])
			}
			if well[target] = f.at + f.length + rest; f.at+f.length > length {
				t.Errorf("%s: %s ends at %v", backend, f.fault.name, f.at+f.length)
			}
		}
		for i := range faults {
			if n := seen[faults[i].name]; (n > 0) != faults[i].fits(backend) {
				t.Errorf("%s: %s comes %d times", backend, faults[i].name, n)
			}
		}
	}
}
