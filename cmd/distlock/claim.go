package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
)

// handleEnv has the handle, because it is a secret, and other users can see arguments.
const handleEnv = "DISTLOCK_HANDLE"

func claimCommand(stdout, stderr io.Writer) *cli.Command {
	r := &runner{stderr: stderr, conflict: exitConflict, opts: distlock.Opts{KeyTimeout: 10 * time.Minute, RetryInterval: distlock.DefaultRetryInterval}}
	flags := slices.DeleteFunc(lockFlags(&r.opts), func(f cli.Flag) bool { // of leases that cannot be handed off
		return slices.Contains([]string{"shared", "min-hold"}, f.Names()[0])
	})
	return &cli.Command{
		Name:  "claim",
		Usage: "take a lock and leave it to other commands, with a handle",
		Description: "It prints a handle, a secret, for " + handleEnv + ". The lock ends LEASE after the last distlock renew, and\n" +
			"no process watches over it: whoever has the handle renews it, stops in time, and releases it. Use\n" +
			"distlock run where one command does the work.\n\n" +
			"The exit code is 1 if another holder has the key, and the output is empty.",
		UsageText: "distlock claim -key deploy [-lease 10m] [flags]",
		Flags:     append(flags, &cli.StringFlag{Name: "key", Usage: "the `KEY` of the lock"}),
		Action: func(ctx context.Context, c *cli.Command) (err error) {
			if r.key, err = keyFlag(c); err != nil {
				return err
			}
			if c.Args().Present() {
				return usageErrorf("unexpected argument %q", c.Args().First())
			}
			if c.IsSet("wait") && r.opts.MaxWait == 0 {
				r.opts.RetryCount = 1
			}
			return withLocker(ctx, c, func(locker *distlock.Locker) error { return r.claim(ctx, locker, stdout) })
		},
	}
}

func (r *runner) claim(ctx context.Context, locker *distlock.Locker, stdout io.Writer) error {
	signal.Ignore(syscall.SIGPIPE) // to release what nobody reads
	signals := make(chan os.Signal, 16)
	notify(signals, endingSignals)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lease, err := r.acquire(ctx, cancel, locker, signals)
	if err != nil {
		return err
	}
	handle, err := lease.HandOff(ctx)
	_ = lease.Release(ctx)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintln(stdout, handle); err != nil {
		_, _ = releaseHandle(ctx, locker, handle)
		return &exitError{exitOS, err}
	}
	return nil
}

func renewCommand(stdout io.Writer) *cli.Command {
	return storeCommand(10*time.Second, "print an object with key and held", &cli.Command{
		Name:        "renew",
		Usage:       "extend the lease of a lock that distlock claim has taken",
		Description: "Call it each third of the lease, with the handle in " + handleEnv + ". The exit code is 70 if the lock is lost:\nstop the work.",
		UsageText:   "distlock renew [-timeout 10s] [-json]",
		Action: func(ctx context.Context, c *cli.Command) error {
			return withHandle(ctx, c, stdout, "renewed", admin.Renew)
		},
	})
}

func releaseHandle(ctx context.Context, locker *distlock.Locker, handle string) (key string, err error) {
	lease, err := locker.Adopt(ctx, handle, distlock.Opts{})
	if err != nil {
		return "", err
	}
	return lease.Key(), lease.Release(ctx)
}

// withHandle calls f for the handle, and prints what it has done.
func withHandle(ctx context.Context, c *cli.Command, stdout io.Writer, done string, f func(context.Context, *distlock.Locker, string) (string, error)) error {
	handle := strings.TrimSpace(os.Getenv(handleEnv))
	if handle == "" {
		return usageErrorf("%s is empty: want the handle that distlock claim has printed", handleEnv)
	}
	return withLocker(ctx, c, func(locker *distlock.Locker) error {
		key, err := f(ctx, locker, handle)
		if err != nil {
			return err
		}
		return writeReleased(stdout, c.Bool("json"), done, key, true)
	})
}
