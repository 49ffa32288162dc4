package torture

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// planned is a fault and its time.
type planned struct {
	at     time.Duration // since the start of the workers
	length time.Duration
	fault  *fault
	target int // number of the process or server
}

// plan has the faults in the order of their beginnings.
type plan []planned

func (p plan) String() string {
	var b strings.Builder
	for _, f := range p {
		fmt.Fprintf(&b, "%10v  %-20s %d  for %v\n", f.at, f.fault.name, f.target, f.length)
	}
	return b.String()
}

// newPlan returns the plan of a seed. Each kind of fault occurs once before any occurs
// again, in random order. Faults of different processes, and those of processes and
// servers, may overlap. A process has one fault at a time, and so has the group of
// servers, because a quorum tolerates only one bad server.
func newPlan(seed uint64, length time.Duration, s setup) plan {
	rng := rand.New(rand.NewPCG(seed, 1))
	free := make([]time.Duration, s.processes) // when the process is without a fault again
	var serversFree time.Duration
	var p plan
	var deck []*fault
	for at := 100 * time.Millisecond; at < length; at += time.Duration(rng.Int64N(int64(s.pace))) {
		if len(deck) == 0 {
			for i := range faults {
				if faults[i].fits(s.backend) {
					deck = append(deck, &faults[i])
				}
			}
			rng.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		f, lasts := planned{at: at, fault: deck[0]}, deck[0].lasts
		deck = deck[1:]
		if lasts.longest > 0 {
			f.length = lasts.shortest + time.Duration(rng.Int64N(int64(lasts.longest-lasts.shortest)))
		}
		f.at, f.length = f.at.Truncate(time.Millisecond), f.length.Truncate(time.Millisecond)
		well := &serversFree
		if f.fault.ofProcess {
			f.target = rng.IntN(s.processes)
			well = &free[f.target]
		} else {
			f.target = rng.IntN(s.servers)
		}
		f.at = max(f.at, *well)
		f.length = min(f.length, length-f.at) // all faults are over at the end
		if f.length < lasts.shortest || f.length < 0 {
			continue
		}
		*well = f.at + f.length
		if f.fault.restarts {
			*well += s.afterRestart
		}
		p = append(p, f)
	}
	slices.SortStableFunc(p, func(a, b planned) int { return cmp.Compare(a.at, b.at) })
	return p
}
