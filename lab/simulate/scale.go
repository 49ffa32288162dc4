package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"
)

// fleet is what docs/scale.md counts for.
type fleet struct {
	processes, keys, held, waiting float64
	lease, hold, retry             float64 // seconds
}

// What the code does, and what was measured: docs/performance.md, and BenchmarkHeld.
const (
	thirds      = 3.0     // a lease is renewed after a third of it, less up to a tenth of that
	earlier     = 0.95    // the mean of that
	gridPoints  = 64.0    // in a third of a lease: renewals at one point share a script
	batch       = 256.0   // renewals in one script
	retrySpread = 1.5     // mean wait for the next attempt, in intervals
	cpuOfLock   = 24e-6   // seconds of the server's CPU for a lock and its release, one caller (docs/adr/0004)
	most        = 150_395 // locks a second with shared messages (F3)
	handOver    = 137e-6  // seconds, between two processes (F6)
	ofKey       = 200     // bytes of Redis 7.0 for a held key and its expiry
	ofWaiter    = 190     // bytes of Redis 7.0 for a place in a queue
	ofConn      = 38e3    // bytes of Redis 7.0 for a connection in use
	ofLease     = 1226    // bytes of a process for a lease (BenchmarkHeld)
	connections = 2.0     // of a process that holds; one more if it waits
	maxClients  = 10_000  // of Redis, unless it is configured
)

// renewalsPerSecond is per lease.
func renewalsPerSecond(lease float64) float64 { return thirds / lease / earlier }

// scriptsPerSecond is the number of scripts in which a process renews n leases: one for each
// point of the grid at which at least one is due, and one for each 256.
func scriptsPerSecond(n, lease float64) float64 {
	points := gridPoints * thirds / lease // a second
	due := n * renewalsPerSecond(lease) / points
	return points * math.Max(1-math.Exp(-due), due/batch)
}

// printScale counts scripts in simulations of small fleets, which must agree with the formulas,
// and computes a large one.
func printScale(ctx context.Context, out printer) error {
	dir, err := os.MkdirTemp("", "simulate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // of a temporary directory
	program, err := build(dir, "")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-test.run=^TestScale$") //nolint:gosec // it is ours
	cmd.Env = environment()
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	out.printf("%-9s %9s %6s %18s %15s %12s\n", "simulated", "processes", "each", "scripts/s, counted", "by the formula", "connections")
	for line := range strings.Lines(string(said)) {
		var what string
		var processes, each, scripts, conns float64
		if n, _ := fmt.Sscan(line, &what, &processes, &each, &scripts, &conns); n < 5 {
			continue
		}
		formula := processes * scriptsPerSecond(each, 30)
		if what == "waiting" {
			formula = processes / (retrySpread * 0.5)
		}
		out.printf("%-9s %9.0f %6.0f %18.2f %15.2f %12.0f\n", what, processes, each, scripts, formula, conns)
	}
	out.printf("\n")
	f := fleet{processes: 10_000, keys: 1_000_000, held: 100_000, waiting: 10_000, lease: 30, hold: 10, retry: 0.5}
	f.print(out)
	return nil
}

func (f fleet) print(out printer) {
	each := f.held / f.processes
	scripts := f.processes * scriptsPerSecond(each, f.lease)
	locks := f.held / f.hold
	attempts := f.waiting / (retrySpread * f.retry)
	request := cpuOfLock / 2
	row := func(what string, value any, formula string) {
		out.printf("| %s | %v | %s |\n", what, value, formula)
	}
	number := func(v float64) string {
		s := fmt.Sprintf("%.0f", v)
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	}
	percent := func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }
	megabytes := func(v float64) string { return number(v/1e6) + " MB" }

	out.printf("%s processes, %s keys, %s held for %v each, leases of %v, %s processes wait\n\n", number(f.processes), number(f.keys), number(f.held),
		time.Duration(f.hold)*time.Second, time.Duration(f.lease)*time.Second, number(f.waiting))
	out.printf("| what | value | formula |\n|---|---|---|\n")
	row("renewals a second", number(f.held*renewalsPerSecond(f.lease)), "held ÷ (0.95 × lease ÷ 3)")
	row("scripts that renew, a second", number(scripts), "processes × p × (1 − e^−d); p = 64 ÷ (lease ÷ 3), d = renewals of a process ÷ p; at most 256 leases in one")
	row("the same, if one process held all", number(scriptsPerSecond(f.held, f.lease)), "p × d ÷ 256")
	row("locks and releases a second", number(locks), "held ÷ hold")
	row("attempts of waiters, a second", number(attempts), "waiting ÷ (1.5 × RetryInterval); a process asks once for a key")
	row("CPU of the server for renewals", percent(scripts*request), "scripts × 12 µs, half of a lock and its release (ADR 4)")
	row("CPU for locks and releases", percent(locks*cpuOfLock), "locks × 24 µs")
	row("CPU for attempts of waiters", percent(attempts*request), "attempts × 12 µs")
	row("most locks a second", number(1/cpuOfLock)+" to "+number(most), "1 ÷ 24 µs; F3, messages shared")
	row("memory of the server for keys", megabytes(f.held*ofKey), fmt.Sprintf("held × %d bytes; the other %s keys: nothing", ofKey, number(f.keys-f.held)))
	row("memory for places in queues", megabytes(f.waiting*ofWaiter), fmt.Sprintf("waiting × %d bytes", ofWaiter))
	conns := f.processes*connections + f.waiting
	row("connections", number(conns), "processes × 2 + waiting processes; maxclients is "+number(maxClients)+" by default")
	row("memory for connections", megabytes(conns*ofConn), "connections × 38 kB while they are used")
	row("memory of each process for leases", fmt.Sprintf("%.0f kB", each*ofLease/1e3), fmt.Sprintf("held ÷ processes × %d bytes (BenchmarkHeld)", ofLease))
	row("the same, if one process held all", megabytes(f.held*ofLease), fmt.Sprintf("held × %d bytes", ofLease))
	row("wait for a key, 1,000 before", fmt.Sprintf("1,000 × hold + %v", (1000*time.Duration(handOver*1e9)).Round(time.Millisecond)), "places × (hold + 137 µs) (F6)")
}
