// Package load is the load test that the command bench runs: users who call a function, with a
// lock and without.
package load

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

// Main runs the command with the arguments of the process, until ctx ends or the first
// signal comes, and returns the exit code.
func Main(ctx context.Context, stores Stores) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal ends the load, the second ends the process
	return Run(ctx, stores, os.Args[1:], os.Stdout, os.Stderr)
}

// Run is [Main] without the parts that belong to the process.
func Run(ctx context.Context, stores Stores, args []string, stdout, stderr io.Writer) int {
	cfg, err := parseFlags(stores, args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	mistake := err != nil
	if err == nil {
		err = bench(ctx, cfg, stdout)
		mistake = errors.Is(err, stores.Mistake)
	}
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(stderr, "bench: "+oneLine(err.Error()))
	if mistake {
		return 2
	}
	return 1
}
