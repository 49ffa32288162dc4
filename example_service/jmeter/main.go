// Command jmeter runs JMeter's own plan for the example service, shop.jmx, with a real
// JMeter, and judges the result:
//
//   - with the lock no sample fails, and the stock at the end is 0;
//   - without the lock the plan fails, because the stock is not 0;
//   - the command bench, under the same load, writes samples of which JMeter's report
//     has the figures that bench itself reports.
//
// It runs in its own directory and needs Maven and Java:
//
//	make jmeter USERS=1000 LOOPS=10
//
// Maven fetches JMeter. All files are below target: JMeter itself, and for each run the
// samples, the log, and the report as a page. The exit code is 1 if something is not as
// it should be.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// target is the directory of all files that the command writes.
const target = "target"

// load is the load of each run. Ramp-up and think time are the defaults of the plan and
// of bench.
type load struct{ users, loops int }

func (l load) orders() int { return l.users * l.loops }

// run is the program without the parts that belong to the process. It returns the exit
// code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("jmeter", flag.ContinueOnError)
	fs.SetOutput(stderr)
	var l load
	fs.IntVar(&l.users, "users", 1000, "number of `users`")
	fs.IntVar(&l.loops, "loops", 10, "number of `orders` of each user")
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil || fs.NArg() > 0 || l.users < 1 || l.loops < 1 {
		_, _ = fmt.Fprintln(stderr, "jmeter: want -users and -loops of at least 1, and nothing else")
		return 2
	}
	if err := judge(ctx, l, stdout, stderr); err != nil {
		_, _ = fmt.Fprintln(stderr, "jmeter:", err)
		return 1
	}
	return 0
}

// judge does all runs on one service and writes what it finds to w. The error says what
// is not as it should be.
func judge(ctx context.Context, l load, w, progress io.Writer) error {
	jm, err := fetch(ctx, progress)
	if err != nil {
		return err
	}
	shop, err := startShop(ctx, progress)
	if err != nil {
		return err
	}
	defer shop.stop()

	locked, err := jm.runPlan(ctx, l, shop, "locked", "")
	if err != nil {
		return err
	}
	open, err := jm.runPlan(ctx, l, shop, "unlocked", "/unlocked")
	if err != nil {
		return err
	}
	ours, theirs, samples, err := jm.runBench(ctx, l, shop)
	if err != nil {
		return err
	}

	table := [][]string{header}
	table = append(table,
		locked.figures.row("with the lock", "JMeter"),
		ours[0].row("", "bench"),
		theirs[0].row("", "JMeter's report of bench's samples"),
		open.figures.row("without the lock", "JMeter"),
		ours[1].row("", "bench"),
		theirs[1].row("", "JMeter's report of bench's samples"))
	writeTable(w, table)

	verdict := func(what string, err error) error {
		if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
			_, _ = fmt.Fprintln(w, "FAILED", err)
			return err
		}
		_, _ = fmt.Fprintln(w, "ok    ", what)
		return nil
	}
	return errors.Join(
		verdict("with the lock the plan passes: the stock is 0", locked.passes(l)),
		verdict("without the lock the plan fails: the stock is not 0", open.failsByStock(l)),
		verdict("with the lock, JMeter's report of bench's samples has bench's figures", ours[0].same(theirs[0], samples[0])),
		verdict("without the lock, the same", ours[1].same(theirs[1], samples[1])),
	)
}

func (l load) args() []string {
	return []string{"-users", strconv.Itoa(l.users), "-loops", strconv.Itoa(l.loops)}
}
