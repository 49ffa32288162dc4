package torture

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9/logging"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

// simulator is redislock in a bubble of virtual time, as a backend of the torture.
const simulator = "simulated"

var (
	processesFlag = flag.Int("processes", 3, "of a simulation")
	dropFlag      = flag.String("drop", "", "names of the faults that a simulation leaves out, with commas between them")
)

// TestSimulate is the torture of redislock in virtual time: some seeds, or the one of -seed. The
// command lab/simulate calls it, in a program in which the same seed prints the same.
func TestSimulate(t *testing.T) {
	if seed := *seedFlag; seed != 0 {
		fmt.Print(simulate(t, seed))
		return
	}
	for seed := range uint64(4) {
		t.Run(strconv.Itoa(int(seed)+1), func(t *testing.T) { t.Log(simulate(t, seed+1)) })
	}
}

// simulate runs a seed, and returns the report. With a violation the test fails.
func simulate(t *testing.T, seed uint64) string {
	t.Helper()
	logging.Disable()
	uuid.SetRand(&lockedReader{r: rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})})
	defer uuid.SetRand(nil)
	s, err := newSetup(simulator)
	if err != nil {
		t.Fatal(err)
	}
	s.processes = *processesFlag
	length := *durFlag
	if length == 0 {
		length = 30 * time.Second
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	dropped := strings.Split(*dropFlag, ",")
	weather := weatherOf(rng, dropped)
	s.workers, s.keys = 1+rng.IntN(4), 2+rng.IntN(1+rng.IntN(8))
	s.simulated = config{
		Seed: seed, Workers: s.workers, Keys: s.keys, Shares: true, Slow: 1 << rng.IntN(6),
		Lease: 400 * time.Millisecond << rng.IntN(2), Long: 3 << rng.IntN(5), Longer: 2 * time.Second << rng.IntN(2),
		Keeps: 2 << rng.IntN(4),
	}
	if rng.IntN(3) == 0 { // most keys are free, and the server is near: plain commands suffice
		s.keys, weather.far, weather.proxy = s.keys*4, [directions]time.Duration{}, true
		s.simulated.Keys, s.simulated.Shares, s.simulated.Slow, s.simulated.Rest = s.keys, false, 1, 16<<rng.IntN(3)
	}
	s.pace = time.Second << rng.IntN(4)
	p := simulationPlan(rng, seed, length, s, dropped)
	r := &rig{tb: t, setup: s, seed: seed, injected: make(map[string]int), register: testkit.NewNetRegister(t)}
	var took time.Duration
	var left []string
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r.world = newWorld(t, r, weather)
		done := make(chan struct{})
		defer close(done)
		go r.world.watch(done)
		r.run(p, length)
		r.world.heal()
		took = time.Since(start)
		left = r.world.left()
	})
	h, sum := r.world.history()
	h.Left = left
	struck := r.world.struck(r.injected)
	vs, pieces := h.violations(pieceSize)
	var b strings.Builder
	if len(vs) == 0 {
		struck = "" // the numbers suffice
	}
	fmt.Fprintf(&b, "seed %d, %d processes with %d workers, %d keys, %v of virtual time\n%v%s%s\n", seed, s.processes, s.workers, s.keys, took, p, struck, h.report(r.injected, vs, pieces))
	for i, v := range vs {
		if i < 5 {
			fmt.Fprintf(&b, "violation: %s: %s\n", v.Check, v.What)
		}
	}
	if len(vs) > 0 {
		b.WriteString(h.story(vs[0].What))
	}
	fmt.Fprintf(&b, "history: %x\nend of the report\n", sum)
	if len(vs) > 0 {
		t.Fail()
	}
	return b.String()
}

// simulationPlan returns the plan of a seed without the faults that are dropped, by their
// times and kinds. Each seed draws which kinds it has. The clock is set back with odd
// seeds and the server fails over with even ones: P3 does not survive both.
func simulationPlan(rng *rand.Rand, seed uint64, length time.Duration, s setup, dropped []string) plan {
	without := []string{[]string{"clock set back", "failover"}[seed%2]}
	for i := range faults {
		if rng.IntN(2) == 0 {
			without = append(without, faults[i].name)
		}
	}
	p := newPlan(seed, length, s)
	return slices.DeleteFunc(p, func(f planned) bool {
		return slices.Contains(without, f.fault.name) || slices.Contains(dropped, fmt.Sprint(f.at, " ", f.fault.name))
	})
}

var (
	inText    = regexp.MustCompile(`key (\d+)`)
	tokenText = regexp.MustCompile(`token (\d+)`)
)

// story returns what happened to the key that a violation names, before the lease that it
// names: the last leases, one in a line, or nothing.
func (h *history) story(what string) string {
	key, token := inText.FindStringSubmatch(what), tokenText.FindAllStringSubmatch(what, -1)
	if key == nil || token == nil {
		return ""
	}
	number, _ := strconv.Atoi(key[1])
	last, _ := strconv.ParseUint(token[0][1], 10, 64)
	var lines []string
	at := func(t int64) string { return time.Duration(t - bubbleStart).Round(time.Microsecond).String() }
	for _, l := range h.byKey(number) {
		line := fmt.Sprintf("%12s  granted %v, confirmed until %s", at(l.Acquire.Return), l, at(l.Until))
		if l.LostSeen > 0 {
			line += ", told of the loss at " + at(l.LostSeen)
		}
		for _, u := range l.Uses {
			if u.Outcome == failed {
				line += ", a use refused at " + at(u.Return)
			}
		}
		if r := l.Release; r != nil {
			line += fmt.Sprintf(", release at %s: %s", at(r.Call), r.Outcome)
		}
		lines = append(lines, line+"\n")
		if l.Token == last {
			break
		}
	}
	return strings.Join(lines[max(0, len(lines)-6):], "")
}

// bubbleStart is the time at which the clock of a bubble starts.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// lockedReader is a source of random owners, the same for the same seed.
type lockedReader struct {
	mu sync.Mutex
	r  io.Reader
}

func (l *lockedReader) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(p)
}
