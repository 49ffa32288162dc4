// Simulate runs the torture of redislock in virtual time: processes with the real Locker and
// the real scripts, on a simulated Redis and network. Processes crash and pause, the network
// parts, clocks drift by 1 % or are set back, and the server fails over to a replica without the
// last writes. Single messages are late by up to 2.5 s, or their connection is cut: a request
// still arrives then, after the client has sent it again. The network also waits for a renewal,
// delays its answer, and loses all requests after it. Each seed draws which of these faults it has,
// how often, how far the server is, and the load: in a third of the seeds most keys are free, so
// that plain commands suffice, and a proxy hides a failover. The checker of lab/proof/torture
// judges the history. In virtual time it also sees what the store has: a lease that a process
// trusts must be there, and no renewal may be sent after the release.
//
//	go run ./lab/simulate -seed 7          # one seed; the same prints the same bytes
//	go run ./lab/simulate -seeds 1000      # a table of the seeds from -seed on
//	go run ./lab/simulate -scale           # the numbers of docs/scale.md
//
// Virtual time needs testing/synctest, which works in tests only: so the simulation is a test,
// and this command builds it with [edits] of the Go runtime, and runs it once for each seed in a
// process of its own. A violation is shrunk: the command leaves out faults, and last one by one.
//
// What it does not show: a pause stops the workers of a process and its network, but not the timers
// of its Locker, which share the clock of the bubble. The clocks of the processes are one, so
// drift and steps are those of the server's clock. The server is miniredis: it is not
// replicated, and a failover puts back the data of an earlier moment. A mutex is not held
// while virtual time passes, so opening a connection takes none. The server is never
// full, so a write that is refused first is not seen. A grant has more tokens than
// readers, unless it came microseconds after another. The network does not repeat what a
// client sent once, as TCP does not.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:], printer{os.Stdout}); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

// printer prints. Nobody can be told of what cannot be printed.
type printer struct{ io.Writer }

func (p printer) printf(format string, args ...any) { _, _ = fmt.Fprintf(p, format, args...) }

var errViolations = errors.New("there are violations")

func run(ctx context.Context, args []string, out printer) error {
	flags := flag.NewFlagSet("simulate", flag.ExitOnError)
	seed := flags.Uint64("seed", 1, "of the only run, or of the first of several")
	seeds := flags.Int("seeds", 1, "number of runs")
	processes := flags.Int("processes", 3, "number of simulated processes")
	length := flags.Duration("for", 30*time.Second, "virtual time in which faults begin")
	twice := flags.Bool("twice", false, "run each seed twice and compare what it prints")
	overlay := flags.String("overlay", "", "file as of go build -overlay, with a planted bug")
	jobs := flags.Int("jobs", runtime.NumCPU(), "number of runs at a time")
	shrinks := flags.Bool("shrink", true, "leave out the faults that the first violation does not need")
	scale := flags.Bool("scale", false, "print the table of docs/scale.md instead")
	_ = flags.Parse(args) // it exits
	switch {
	case *scale:
		return printScale(ctx, out)
	case flags.NArg() > 0:
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	case *seed < 1 || *seeds < 1 || *processes < 1 || *jobs < 1 || *length <= 0:
		return errors.New("-seed, -seeds, -processes, -jobs and -for must be positive")
	}
	dir, err := os.MkdirTemp("", "simulate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // of a temporary directory
	s := &simulation{processes: *processes, length: *length}
	if s.program, err = build(dir, *overlay); err != nil {
		return err
	}
	t := newTable(out, *seeds > 1)
	start := time.Now()
	s.each(ctx, *seed, *seeds, *jobs, func(r *report, err error) {
		if err == nil && *twice {
			err = s.compare(ctx, r)
		}
		t.add(r, err)
	})
	t.end(*seeds, *twice, time.Since(start))
	if t.first == nil {
		return errors.Join(t.errs...)
	}
	if !*shrinks {
		return errors.Join(append(t.errs, errViolations)...)
	}
	if short, err := s.shrink(ctx, t.first); err != nil {
		t.errs = append(t.errs, err)
	} else {
		out.printf("\nseed %d without the faults that it does not need:\n\n%s", short.seed, short.text)
	}
	return errors.Join(append(t.errs, errViolations)...)
}

// compare runs the seed of a report once more.
func (s *simulation) compare(ctx context.Context, r *report) error {
	again, err := s.run(ctx, r.seed)
	if err == nil && again.text != r.text {
		err = fmt.Errorf("seed %d does not print the same twice", r.seed)
	}
	return err
}

// table adds up reports, and prints a row for every hundred.
type table struct {
	out          printer
	many         bool
	row          sum
	total        sum
	faults       map[string]int
	first        *report // the first with a violation
	violated     int
	checks       map[string]int
	errs         []error
	from, latest uint64
}

type sum struct {
	seeds                                      int
	virtual                                    time.Duration
	faults, leases, losses, refused, violation int
}

func newTable(out printer, many bool) *table {
	t := &table{out: out, many: many, faults: make(map[string]int), checks: make(map[string]int)}
	if many {
		out.printf("%-11s %12s %7s %8s %7s %8s %10s\n", "seeds", "virtual time", "faults", "leases", "losses", "refused", "violations")
	}
	return t
}

func (t *table) add(r *report, err error) {
	if err != nil {
		t.errs = append(t.errs, err)
		return
	}
	if !t.many {
		t.out.printf("%s", r.text)
	}
	if len(r.checks) > 0 {
		t.violated++
		t.checks[r.checks[0]]++
		if t.first == nil {
			t.first = r
		}
	}
	operations, leases := r.counts("operations"), r.counts("leases")
	one := sum{
		seeds: 1, virtual: r.virtual, leases: operations["acquire ok"], losses: leases["told of a loss"],
		refused: operations["write failed"] + operations["read failed"], violation: len(r.checks),
	}
	for name, n := range r.counts("faults") {
		t.faults[name] += n
		one.faults += n
	}
	if t.row.seeds == 0 {
		t.from = r.seed
	}
	t.latest = r.seed
	t.row.plus(one)
	t.total.plus(one)
	if t.row.seeds == 100 {
		t.print(fmt.Sprintf("%d-%d", t.from, t.latest), &t.row)
	}
}

func (s *sum) plus(o sum) {
	s.seeds += o.seeds
	s.virtual += o.virtual
	s.faults += o.faults
	s.leases += o.leases
	s.losses += o.losses
	s.refused += o.refused
	s.violation += o.violation
}

// print prints a row, and makes it empty.
func (t *table) print(name string, s *sum) {
	if t.many && s.seeds > 0 {
		t.out.printf("%-11s %12v %7d %8d %7d %8d %10d\n", name, s.virtual.Round(time.Second), s.faults, s.leases, s.losses, s.refused, s.violation)
	}
	*s = sum{}
}

func (t *table) end(seeds int, twice bool, took time.Duration) {
	virtual := t.total.virtual
	if t.many {
		t.print(fmt.Sprintf("%d-%d", t.from, t.latest), &t.row)
		t.print("all", &t.total)
		t.out.printf("\n")
		for _, name := range slices.Sorted(maps.Keys(t.faults)) {
			t.out.printf("%-18s %6d\n", name, t.faults[name])
		}
		t.out.printf("\nseeds with violations: %d of %d", t.violated, seeds)
		if t.first != nil {
			t.out.printf(", the first is %d, found by %v", t.first.seed, t.checks)
		}
		t.out.printf("\n")
	}
	if twice && len(t.errs) == 0 {
		t.out.printf("%d of %d seeds printed the same bytes twice\n", seeds, seeds)
	}
	fmt.Fprintf(os.Stderr, "a minute of real time showed %v of virtual time\n", time.Duration(float64(virtual)/took.Minutes()).Round(time.Second))
}
