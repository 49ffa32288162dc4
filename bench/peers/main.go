// Command peers sets the lock beside others that Go programs use with Redis:
// redislock, redsync, rueidislock, and the bare pair of commands, SET NX PX and a
// compare-and-delete, that a hand-written lock is; and beside the one of
// go-zookeeper. All work on the same server in the same run, turn by turn, and what
// counts are the ratios: a figure holds for one machine on one day.
//
//	go run ./bench/peers -redis redis://127.0.0.1:6379/0
//
// Without -redis it starts a redis-server from PATH and stops it in the end. A
// server that has other work to do spoils the figures, F8's most of all. Nothing
// is left behind there: all keys are the run's own and expire. For F14 it starts a
// ZooKeeper, of Debian's package, which writes each change to the directory for
// temporary files before it answers; without one F14 is left out. All takes about
// thirteen minutes; -short takes about one, and -only picks goals.
//
// The peers are requirements of the module bench: a program that uses the library
// does not get them.
//
// # What is measured
//
// Each peer is set up as its documentation says; see the file peer_*.go. Each turn
// has fresh processes, started from this binary, which first warm up. In F4 and F5
// every goroutine takes the lock as often as the others, ten times at first and
// then as often as there is time for, so that nobody gains by starving others. A
// peer that does not get there in -patience is stopped, did not finish, and is not
// the best peer. Throughput is the median of the rounds.
//
//	F1  1 goroutine: our time for lock and unlock, over the bare pair's     <= 1.10
//	F2  8 goroutines, own keys: our locks/s, over the best peer's           >= 1.0
//	F3  1,000 goroutines, own keys: our locks/s, over the best peer's       >= 3
//	    over the bare pairs/s that fit through the server in full pipelines >= 0.45
//	F4  1,000 goroutines, one key: our locks/s, over the best peer's        >= 50
//	    the longest wait, over the mean, while all are in the queue; the
//	    median of the rounds                                                <= 3
//	    by how many that came later a waiter was overtaken, at most         <= 64
//	F5  4 processes x 64 goroutines, one key: our locks/s in all, over the
//	    best peer's                                                         >= 50
//	    the largest share of a process, over the smallest, when the first
//	    has done its part; the worst round                                  <= 2
//	    grants while another held the lock, or without a higher token       = 0
//	F6  2 processes x 1 goroutine, one key: from the beginning of an unlock
//	    to the other's having the lock, over the sum of a message from
//	    process to process and a round trip; medians of all                 <= 1.3
//	F7  2, 8, 64 and 1,000 goroutines in up to 4 processes want the lock at
//	    the same time, each once and for 10 ms: the time in which somebody
//	    holds it, from the first grant to the last unlock                   >= 0.97
//	F8  64 and 1,000 of them in 4 processes: commands that the server
//	    carried out, those in scripts included, for each lock               <= 4
//	    with 1,000 over with 64                                             <= 1.25
//	F14 ZooKeeper, 100 goroutines: our locks/s, over go-zookeeper's lock's,
//	    with own keys                                                       >= 1.0
//	    with one key                                                        >= 20
//
// F7 sets ours beside polling every 200 to 400 ms, and -svg draws that.
//
// Every grant of a lock with one key, by whichever process, is checked in memory
// that the processes share: nobody else is inside, and the token is higher than
// the last. A violation by ours makes the exit code 1; missing a goal does not.
// The exit code is 2 for a mistake on the command line.
//
// # The file
//
// -json writes the machine, the goals ("scenarios") and the figures of everybody:
//
//	{"machine":{"cpu","cpus","os","go","redis","zookeeper"},
//	 "scenarios":[{"id","what","goal","direction","ratio","ours","best_peer","best_peer_name","unit","met"}],
//	 "figures":[{"scenario","what","peer","finished","rate","rates","locks","p50_us","p99_us","max_us",...}]}
//
// The first goal of F3 has the id F3, the others F3.limit and so on.
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
	if os.Getenv(childEnv) != "" {
		os.Exit(child(os.Stdin, os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal ends the run, the second the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program but for what belongs to the process. It returns the
// exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "peers:", err)
		return 2
	}
	if err := measureAll(ctx, cfg, stdout, stderr); err != nil {
		_, _ = fmt.Fprintln(stderr, "peers:", err)
		return 1
	}
	return 0
}

// measureAll runs the benchmark and reports. What was measured is reported also
// if the lock was violated.
func measureAll(ctx context.Context, cfg *config, stdout, stderr io.Writer) error {
	stop, err := startServers(ctx, cfg, stderr)
	if err != nil {
		return err
	}
	defer stop()
	b, err := newBench(cfg, stderr)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.run(ctx); err != nil {
		return err
	}
	if err := b.report(ctx, stdout); err != nil {
		return err
	}
	return b.violated()
}
