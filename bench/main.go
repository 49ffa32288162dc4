// Command bench sets load on a distributed lock and counts what the lock is there
// to protect. It is the classic test of such a lock, in JMeter's words: 1,000
// users, each of whom calls a method 10 times, a tenth of a second apart. The
// method adds one to a counter by reading it and writing it back. Under the lock
// every increment is there in the end; without it some are lost.
//
//	go run ./bench
//
// That calls a function in this process that [distlock.Wrap] has decorated, first
// with the lock and then without, on the embedded Redis. It prints:
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
// The table is JMeter's Aggregate Report, with times in milliseconds. Throughput
// counts from the beginning of the first sample to the end of the last, think
// time and ramp-up included: at the defaults it is what the users ask for, not
// what the lock could do. How many increments are lost without the lock is up to
// the scheduler and differs from run to run; see plan_wrap.go for what makes
// users meet.
//
// # Plans
//
// With -plan wrap a sample is a call of the decorated function. -backend says
// where the lock is, and -hold how long the function takes.
//
//	go run ./bench -backend redis://127.0.0.1:6379/0 -hold 1ms -keys 100
//	go run ./bench -backend zk://127.0.0.1:2181/bench -hold 1ms -keys 100
//
// With -plan http and -plan grpc it is an order at the example service, which
// does the locking: the counter is the stock of an item, which is filled with as
// many pieces as the users will order. An increment is there if the order was
// confirmed and the piece is gone from the stock.
//
//	go run ./example_service &
//	go run ./bench -plan http -target http://127.0.0.1:8080
//	go run ./bench -plan grpc -target 127.0.0.1:9090
//
// The other flags mean the same for all plans; -help lists them. -users start
// evenly over the -ramp-up and do -loops samples each, with a pause of -think
// before each sample, which is not in its time. With -keys there are as many
// locks and counters, over which the users are spread. -lock is on, off or both,
// one after the other.
//
// # Reports
//
// -jtl writes every sample as a line of CSV, with the columns that JMeter 5
// writes by default, for its listeners and for the report of jmeter -g. The runs
// are thread groups 1 and 2. Times there are whole milliseconds; the table is
// measured in microseconds. bytes and sentBytes are those of the bodies.
//
// -json writes what a run came to, for comparing runs:
//
//	{"runs":[{"plan","lock","users","loops","samples","errors","expected","counted",
//	          "throughput_per_s","p50_ms","p99_ms","max_ms"}]}
//
// Where expected is how many increments were confirmed, and counted is how many
// are there, null if that could not be found out.
//
// An interrupt ends the run: samples that have begun may go on for two seconds,
// then what was done is reported. A second interrupt ends the process.
//
// The exit code is 2 for a mistake on the command line, and 1 if the service or
// the backend cannot be reached, if all samples of a run failed, or if a run
// lost an increment in spite of the lock.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal ends the load, the second ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program but for what belongs to the process. It returns the
// exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, err := parseFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		usage(stdout)
		return 0
	}
	if err == nil {
		err = bench(ctx, cfg, stdout, stderr)
	}
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(stderr, "bench: "+oneLine(err.Error()))
	if isUsage(err) {
		return 2
	}
	return 1
}
