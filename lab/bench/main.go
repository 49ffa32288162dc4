// Command bench puts load on a distributed lock and counts the updates that the lock
// protects. It is the classic test of such a lock, in JMeter's terms: 1,000 users call
// a method 10 times each, with a pause of 100 ms. The method adds one to a counter by
// reading it and writing it back. With the lock no increment is lost; without it some
// are.
//
//	go run ./lab/bench
//
// This command calls a function that [distlock.Wrap] has decorated, in this process and
// on the embedded Redis, first with the lock and then without. It prints:
//
//	wrap: 1,000 users x 10 loops, ramp-up 1s, think 100ms, hold 0s, keys 1, backend embedded
//
//	Label         # Samples  Average  Median  90% Line  95% Line  99% Line    Min   Max  Error %  Throughput /s
//	wrap lock        10,000     1.97   0.698      5.33      7.96      12.4  0.019  22.7    0.00%          5,170
//	wrap no lock     10,000    0.231   0.122     0.631     0.752      1.08  0.001  3.95    0.00%          5,100
//	TOTAL            20,000     1.10   0.264      3.40      5.33      11.9  0.001  22.7    0.00%          5,004
//
//	wrap lock: 10,000 of 10,000 increments
//	wrap no lock: 1,254 of 10,000 increments, 8,746 lost
//
// The table is JMeter's Aggregate Report, with times in milliseconds. Throughput is
// measured from the beginning of the first sample to the end of the last, with think
// time and ramp-up: at the defaults it is the rate that the users ask for, not the
// limit of the lock. How many increments are lost without the lock depends on the
// scheduler and differs from run to run; counter.go says how users get to
// overlap.
//
// -backend is the store of the locks, and -hold is how long the function takes.
//
//	go run ./lab/bench -backend redis://127.0.0.1:6379/0 -hold 1ms -keys 100
//	go run ./lab/bench -backend zk://127.0.0.1:2181/bench -hold 1ms -keys 100
//	go run ./lab/bench -backend postgres://postgres@127.0.0.1:5432/bench -hold 1ms -keys 100
//
// The users start evenly over -ramp-up and do -loops samples each, with a pause of -think
// before each sample that does not count as its time. -keys is the number of locks and
// counters, over which the users are spread. -lock is on, off or both, one after the other.
// -help lists the flags. JMeter itself is in example_service/jmeter: it orders from the example
// service.
//
// An interrupt ends the run, and the results so far are reported. A second interrupt ends
// the process.
//
// The exit code is 2 for a mistake on the command line. It is 1 if the backend cannot be
// reached, if all samples of a run failed, or if an increment was lost in spite of the lock.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/distlock-go/distlock/cmd/backendurl"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal ends the load, the second ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the parts that belong to the process. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	code := 2
	if err == nil {
		err = c.bench(ctx, stdout)
		if !errors.Is(err, backendurl.ErrURL) {
			code = 1
		}
	}
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(stderr, "bench:", err)
	return code
}

// bench does the runs, and reports them. After a failure it still reports the results so far.
func (c *config) bench(ctx context.Context, stdout io.Writer) (failure error) {
	var runs []*load
	for _, locked := range settings[c.lock] {
		l, err := c.load(ctx, locked)
		if l != nil {
			runs = append(runs, l)
			failure = cmp.Or(failure, l.verdict())
		}
		if ctx.Err() != nil {
			break // an interrupt is not a failure
		}
		if failure = cmp.Or(failure, err); failure != nil {
			break
		}
	}
	report := c.report(runs)
	if ctx.Err() != nil {
		report += "interrupted: these are the results so far\n"
	}
	_, err := io.WriteString(stdout, report)
	return cmp.Or(failure, err)
}
