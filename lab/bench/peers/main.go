// Command peers compares the lock with other locks that Go programs use: on Redis with
// redislock, redsync, rueidislock, and the bare pair of commands of a hand-written lock,
// SET NX PX and a compare-and-delete; with go-zookeeper's lock, two locks of PostgreSQL, the
// Mutex of etcd's client, Java's Redisson, a key of NATS and an object of S3 by hand,
// cirello.io/dynamolock, and client-go's elector. Only the ratios are comparable: the figures
// hold for one machine on one day.
//
//	go run ./lab/bench/peers -only F1,F2
//
// It starts the servers that it needs from PATH and from Debian's packages, leaves out what
// is not installed, and stops them at the end. All use their defaults, so ZooKeeper,
// PostgreSQL and etcd write each change to disk before they answer, and so does NATS here.
// DynamoDB and S3 are moto, an emulator. kube-apiserver is what lab/kube/build has made, and
// DISTLOCK_TEST_KUBE names; the program needs -tags kube for it, because client-go takes long
// to compile. The whole benchmark takes about twenty minutes.
//
// # How it measures
//
// All peers of a scenario have the same number of turns, in turn, so that changes in the
// machine's speed affect all alike. Four turns are a round; each round begins with another
// peer. A turn has new processes of this binary, which first warm up. An otherwise idle
// client and server keep a fast or a slow rhythm for as long as they live, depending on how
// the processors wake each other: only many processes have both in proportion. On
// ZooKeeper all peers first have turns that do not count, because a JVM interprets its code at
// first.
//
// A ratio is the median of the ratios of the rounds. The column Halves has this median for
// the first and for the second half of the rounds, as if the benchmark had run twice. If they
// differ by more than 10 %, the machine is too noisy, or the run too short, to judge by the
// ratio, and the last line says so.
//
// In a scenario with one key, each goroutine takes the lock equally often, so that a peer does
// not gain by starving some callers. A peer that does not finish in its time cannot be the best.
//
// The CPU time of a lock and unlock is spent by the client's process and, on Redis, by the
// server.
//
// The rows F9 and F10 are not about locks per second: a process holds many leases, has many
// waiters, or has just begun. F9 has one round.
//
// The goals are in scenario.go, and how each peer is set up is in the files peer_*.go: as its
// documentation says. The exit code is 1 if our lock fails or had two holders at once, and 2 for a
// mistake on the command line. A missed goal does not affect it.
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

	testserver "github.com/distlock-go/distlock/internal/test/child" // this package has a child of its own
)

func main() {
	if text, ok := os.LookupEnv(childEnv); ok {
		child(text, os.Stdin, os.Stdout)
		return
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

// measureAll runs the benchmark and reports the results, also if our lock failed.
func measureAll(ctx context.Context, cfg *config, stdout, stderr io.Writer) error {
	b := &bench{cfg: cfg, servers: &servers{urls: make(map[store]string)}, progress: stderr}
	defer b.servers.stop()
	for _, s := range cfg.scenarios {
		if err := b.servers.need(s); errors.Is(err, testserver.ErrMissing) {
			_, _ = fmt.Fprintf(stderr, "%s is left out: %v\n", s.id, err)
			continue
		} else if err != nil {
			return err
		}
		if err := b.measure(ctx, s); err != nil {
			return err
		}
	}
	if b.figures == nil {
		return errors.New("no scenario can be measured")
	}
	if err := b.report(ctx, stdout); err != nil {
		return err
	}
	return b.failed()
}
