package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
)

const handleEnv = "DISTLOCK_HANDLE"

// handleFlag is a flag of the commands for a lock that outlives its process.
func handleFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "handle", Usage: usage + ". The handle is a secret: it is no argument, because other users can see those"}
}

func claimCommand(stdout, stderr io.Writer) *cli.Command {
	r := &runner{stderr: stderr, conflict: exitConflict, opts: distlock.Opts{KeyTimeout: 10 * time.Minute, RetryInterval: distlock.DefaultRetryInterval}}
	return &cli.Command{
		Name:  "claim",
		Usage: "take a lock and leave it to other commands, with a handle",
		Description: "The lock ends LEASE after the last distlock renew, and no process watches over it: whoever has the\n" +
			"handle renews it, stops in time, and releases it. Use distlock run where one command does the work.\n\n" +
			"The exit code is 1 if another holder has the key, and the output is empty.",
		UsageText: "distlock claim -key deploy [-lease 10m] [-handle FILE] [flags]",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "key", Usage: "the `KEY` of the lock"},
			handleFlag("write the handle to `FILE`, which nobody else may read, and not to the output"),
		}, slices.DeleteFunc(lockFlags(&r.opts), func(f cli.Flag) bool {
			return slices.Contains([]string{"shared", "min-hold"}, f.Names()[0]) // such a lease cannot be handed off
		})),
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
			return withLocker(ctx, c, func(locker *distlock.Locker) error { return r.claim(ctx, locker, stdout, c.String("handle")) })
		},
	}
}

// claim writes the handle to the file, or to stdout if path is empty.
func (r *runner) claim(ctx context.Context, locker *distlock.Locker, stdout io.Writer, path string) error {
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
	switch {
	case errors.Is(err, distlock.ErrUnavailable), errors.Is(err, distlock.ErrLost):
		return err
	case err != nil:
		return &exitError{exitUsage, err}
	}
	if path != "" {
		_ = os.Remove(path) // others may read it
		f, openErr := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err = openErr; err == nil {
			_, err = fmt.Fprintln(f, handle)
			err = errors.Join(err, f.Close())
		}
	} else {
		_, err = fmt.Fprintln(stdout, handle)
	}
	if err == nil {
		return nil
	}
	_, _ = releaseHandle(ctx, locker, handle) // nobody has it
	return &exitError{exitOS, err}
}

func renewCommand(stdout io.Writer) *cli.Command {
	return storeCommand(10*time.Second, "print an object with key and held", &cli.Command{
		Name:        "renew",
		Usage:       "extend the lease of a lock that distlock claim has taken",
		Description: "Call it each third of the lease. The exit code is 70 if the lock is lost: stop the work.",
		UsageText:   "distlock renew [-handle FILE] [-timeout 10s] [-json]",
		Flags:       []cli.Flag{handleFlag("read the handle from `FILE`, or from the input if that is -, and not from " + handleEnv)},
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
	handle, err := readHandle(c)
	if err != nil {
		return err
	}
	return withLocker(ctx, c, func(locker *distlock.Locker) error {
		key, err := f(ctx, locker, handle)
		if err != nil {
			return err
		}
		return writeReleased(stdout, c.Bool("json"), done, key, true)
	})
}

// readHandle returns the handle in the file of -handle, or in the environment.
func readHandle(c *cli.Command) (string, error) {
	var text []byte
	var err error
	switch path := c.String("handle"); path {
	case "":
		text = []byte(os.Getenv(handleEnv))
	case "-":
		text, err = io.ReadAll(os.Stdin)
	default:
		text, err = os.ReadFile(path)
	}
	handle := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return "", usageErrorf("-handle: %w", err)
	case handle == "":
		return "", usageErrorf("there is no handle: want it in -handle or %s", handleEnv)
	}
	return handle, nil
}
