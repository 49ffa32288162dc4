package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// simulation is a program that [build] has made, and how it is to run.
type simulation struct {
	program   string
	processes int
	length    time.Duration
}

// patience limits the real time of one run.
const patience = 2 * time.Minute

// report is what the run of a seed has printed, and what the command reads there.
type report struct {
	seed    uint64
	text    string
	virtual time.Duration
	checks  []string // of the violations, one for each
}

// run runs a seed, without the faults of the given names.
func (s *simulation) run(ctx context.Context, seed uint64, drop ...string) (*report, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, "-test.run=^TestSimulate$", "-seed="+strconv.FormatUint(seed, 10), //nolint:gosec // it is ours
		"-dur="+s.length.String(), "-processes="+strconv.Itoa(s.processes), "-drop="+strings.Join(drop, ","))
	cmd.Env = environment()
	said, err := cmd.CombinedOutput()
	text, _, whole := bytes.Cut(said, []byte("\nend of the report\n"))
	if !whole {
		return nil, fmt.Errorf("seed %d: no report: %w\n%s", seed, err, said[:min(len(said), 4000)])
	}
	r := &report{seed: seed, text: string(text) + "\n"}
	r.virtual, _ = time.ParseDuration(virtual.FindStringSubmatch(r.text)[1])
	for _, m := range violation.FindAllStringSubmatch(r.text, -1) {
		r.checks = append(r.checks, m[1])
	}
	return r, nil
}

// environment lets the goroutines of a simulation take the same turns each time.
func environment() []string {
	return append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1")
}

var (
	virtual   = regexp.MustCompile(`, (\S+) of virtual time\n`)
	violation = regexp.MustCompile(`(?m)^violation: (\w+): `)
	numbered  = regexp.MustCompile(`([a-z][a-zA-Z' ]*) (\d+)`)
	fault     = regexp.MustCompile(`(?m)^ *(\S+)  ([a-z ]+?) +(\S+)  for `)
)

// counts returns the numbers of a line of the report, by name.
func (r *report) counts(line string) map[string]int {
	counts := make(map[string]int)
	if _, rest, found := strings.Cut(r.text, "\n"+line+": "); found {
		rest, _, _ = strings.Cut(rest, "\n")
		for _, m := range numbered.FindAllStringSubmatch(rest, -1) {
			counts[m[1]], _ = strconv.Atoi(m[2])
		}
	}
	return counts
}

// each runs the seeds from first on, jobs at a time, and calls f with their reports in order.
func (s *simulation) each(ctx context.Context, first uint64, n, jobs int, f func(*report, error)) {
	type result struct {
		report *report
		err    error
	}
	results := make([]chan result, n)
	for i := range results {
		results[i] = make(chan result, 1)
	}
	var all sync.WaitGroup
	for job := range jobs {
		all.Go(func() {
			for i := job; i < n; i += jobs {
				r, err := s.run(ctx, first+uint64(i))
				results[i] <- result{r, err}
			}
		})
	}
	for _, c := range results {
		got := <-c
		f(got.report, got.err)
	}
	all.Wait()
}

// faults returns the names of the faults: one of a message has a number, the others are known by
// their time and kind.
func (r *report) faults() (names []string) {
	for _, m := range fault.FindAllStringSubmatch(r.text, -1) {
		if name := m[3]; strings.Contains(name, ":") {
			names = append(names, name)
		} else {
			names = append(names, m[1]+" "+m[2])
		}
	}
	return names
}

// shrink leaves out faults, many at a time and then one by one, the last ones first, as long as
// there is still a violation of the same kind. It returns the last report that has one.
func (s *simulation) shrink(ctx context.Context, r *report) (*report, error) {
	var dropped []string
	for size := len(r.faults()); size > 0; size /= 2 {
		for end := len(r.faults()); end > 0; end -= size {
			names := r.faults()
			end = min(end, len(names))
			without := slices.Concat(dropped, names[max(0, end-size):end])
			shorter, err := s.run(ctx, r.seed, without...)
			if err != nil {
				return nil, err
			}
			if len(shorter.checks) > 0 && shorter.checks[0] == r.checks[0] {
				r, dropped = shorter, without
			}
		}
	}
	return r, nil
}
