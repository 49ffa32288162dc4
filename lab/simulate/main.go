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
//	go run ./lab/simulate -seeds 1000      # what the seeds from -seed on show together
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
	"os"
	"runtime"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

var errViolations = errors.New("there are violations")

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("simulate", flag.ExitOnError)
	seed := flags.Uint64("seed", 1, "of the only run, or of the first of several")
	seeds := flags.Int("seeds", 1, "number of runs")
	processes := flags.Int("processes", 3, "number of simulated processes")
	length := flags.Duration("for", 30*time.Second, "virtual time in which faults begin")
	overlay := flags.String("overlay", "", "file as of go build -overlay, with a planted bug")
	jobs := flags.Int("jobs", runtime.NumCPU(), "number of runs at a time")
	shrinks := flags.Bool("shrink", true, "leave out the faults that the first violation does not need")
	_ = flags.Parse(args) // it exits
	switch {
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
	total, start := newTotal(), time.Now()
	var errs []error
	s.each(ctx, *seed, *seeds, *jobs, func(r *report, err error) {
		if err != nil {
			errs = append(errs, err)
			return
		}
		if *seeds == 1 {
			_, _ = io.WriteString(out, r.text)
		}
		total.add(r)
	})
	if *seeds > 1 {
		_, _ = io.WriteString(out, total.String())
	}
	fmt.Fprintf(os.Stderr, "a minute of real time showed %v of virtual time\n", time.Duration(float64(total.virtual)/time.Since(start).Minutes()).Round(time.Second))
	if total.first == nil {
		return errors.Join(errs...)
	}
	if *shrinks {
		short, err := s.shrink(ctx, total.first)
		if err == nil {
			_, _ = fmt.Fprintf(out, "\nseed %d without the faults that it does not need:\n\n%s", short.seed, short.text)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, errViolations)...)
}
