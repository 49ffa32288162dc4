// Command peers compares the lock with other locks that Go programs use with Redis:
// redislock, redsync, rueidislock, and the bare pair of commands of a hand-written
// lock, SET NX PX and a compare-and-delete; in other stores, with the lock of
// go-zookeeper, two locks of PostgreSQL and the Mutex of etcd's client; and with the locks of
// two Java libraries, Redisson and Curator. All use
// the same server in the same run, in turn. Only the ratios are comparable: the figures
// hold for one machine on one day.
//
//	go run ./lab/bench/peers -redis redis://127.0.0.1:6379/0
//
// Without -redis it starts a redis-server from PATH and stops it at the end. A server
// with other clients distorts the figures, most of all those of F8. Nothing is left on
// the server: all keys belong to the run and expire. For F14 it starts the ZooKeeper of
// Debian's package, which writes each change to disk before it answers; if it is not
// installed, F14 is skipped. So it is with PostgreSQL for F17, etcd for F18, and Java and
// Maven for F19 and F20. For F16 it starts a new redis-server from PATH for each
// peer, and a replica of it, also if -redis is given. The whole benchmark takes about
// twenty minutes, -short about one, and -only selects goals.
//
// The peers are requirements of the module bench: a program that uses the library
// does not get them.
//
// # What is measured
//
// Each peer is set up as its documentation says; see the files peer_*.go. Each turn has
// new processes of this binary, which first warm up. In F4 and F5 every goroutine takes
// the lock equally often, ten times at first and then as often as the time allows, so
// that a peer does not gain by starving some callers. A peer that does not finish
// within -patience is stopped and cannot be the best peer. Throughput is the median of
// the rounds.
//
//	F1  1 goroutine: our time for lock and unlock, over the bare pair's     <= 1.10
//	F2  8 goroutines, own keys: our locks/s, over the best peer's           >= 1.0
//	    the server's CPU time for lock and unlock, over the bare pair's
//	F3  1,000 goroutines, own keys: our locks/s, over the best peer's       >= 2.5
//	    over the bare pairs/s that fit through the server in full pipelines >= 0.45
//	F4  1,000 goroutines, one key: our locks/s, over the best peer's        >= 50
//	    the longest wait, over the mean, while all are in the queue; the
//	    median of the rounds                                                <= 3
//	    by how many later callers a waiter was overtaken, at most           <= 64
//	F5  4 processes x 64 goroutines, one key: our locks/s in all, over the
//	    best peer's                                                         >= 50
//	    the largest share of a process, over the smallest, when the first
//	    has done its part; the worst round                                  <= 2
//	    grants while another held the lock, or without a higher token       = 0
//	F6  2 processes x 1 goroutine, one key: from the start of an unlock to
//	    the lock in the other process, over the sum of a message between
//	    the processes and a round trip; medians of all                      <= 1.0
//	F7  2, 8, 64 and 1,000 goroutines in up to 4 processes want the lock at
//	    the same time, each once and for 10 ms: the part of the time in
//	    which it is held, from the first grant to the last unlock           >= 0.97
//	F8  64 and 1,000 of them in 4 processes: commands that the server
//	    executed, those in scripts included, for each lock                  <= 4
//	    with 1,000 over with 64                                             <= 1.25
//	F14 ZooKeeper, 100 goroutines: our locks/s, over those of go-zookeeper,
//	    with own keys                                                       >= 1.0
//	    with one key                                                        >= 20
//	F16 1,000,000 keys, each locked and unlocked once: keys that are left in
//	    Redis a second later                                                <= 1
//	    bytes of memory that are left for each key                          <= 1
//	    bytes that a replica gets for each key, over the bare pair's
//	F17 PostgreSQL with fsync: our locks/s, over those of SELECT … FOR UPDATE,
//	    1 goroutine, and 8 with own keys                                    >= 1.0
//	    2 processes x 32 goroutines, one key                                >= 5
//	    each over those of pg_advisory_lock, which is in memory
//	F18 etcd with fsync: our locks/s, over those of concurrency.Mutex,
//	    1 goroutine, and 8 with own keys                                    >= 1.0
//	    2 processes x 32 goroutines, one key                                >= 5
//
//	F19 Redisson's RLock: our locks/s, over its, 1 goroutine or thread, and
//	    64 with own keys                                                    >= 1.0
//	    64, and 4 processes x 16, one key                                   >= 20
//	    each for locks in its own record (package redissonlock), too        >= 1.0
//	F20 Curator's InterProcessMutex on ZooKeeper: our locks/s, over its,
//	    1 goroutine or thread, and 100 with own keys                        >= 1.0
//	    100, and 4 processes x 16, one key                                  >= 20
//
// The peers in Java have the defaults of their libraries and one platform thread for each
// goroutine. Their JVMs work for a whole scenario, and each peer first works for as long as
// it is measured, so that the code is compiled.
//
// Rows without a goal only compare. What is left, what a replica gets and the CPU time
// are what INFO says before and after: the keys of all databases, used_memory without
// connections and replication buffers, master_repl_offset with a replica connected, and
// used_cpu_user and used_cpu_sys.
//
// F7 compares our lock with polling every 200 to 400 ms, and -svg draws the comparison.
//
// Every grant of a lock with one key, in any process, is checked in memory that the
// processes share: the lock must not have another holder, and the token must be higher
// than the last. If our lock violates that, the exit code is 1; missed goals do not
// affect it. The exit code is 2 for a mistake on the command line.
//
// # The file
//
// -json writes the machine, the goals ("scenarios") and the figures of all peers:
//
//	{"machine":{"cpu","cpus","os","go","redis","zookeeper","postgresql","etcd","java"},
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

// run is the program without the parts that belong to the process. It returns the exit
// code.
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

// measureAll runs the benchmark and reports the results, also if the lock was violated.
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
