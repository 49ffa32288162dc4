package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock"
)

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
		UsageText: "distlock claim -key deploy [-lease 10m] [-json] [flags]",
		Flags: append(flags,
			&cli.StringFlag{Name: "key", Usage: "the `KEY` of the lock"},
			&cli.BoolFlag{Name: "json", Usage: "print an object with key, handle and token"}),
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
			if f, ok := stdout.(*os.File); ok && wasClosed(f) {
				return &exitError{exitOS, errors.New("the output is closed: nobody would get the handle")}
			}
			return withLocker(ctx, c, func(locker *distlock.Locker) error { return r.claim(ctx, locker, stdout, c.Bool("json")) })
		},
	}
}

// wasClosed reports whether f was closed when this process began. Then the runtime has opened the
// null device in its place, for reading too; a shell that is told to opens it for writing.
func wasClosed(f *os.File) bool {
	info, _ := f.Stat()
	null, _ := os.Stat(os.DevNull)
	if !os.SameFile(info, null) {
		return false
	}
	_, err := f.Read(make([]byte, 1))
	return err == io.EOF
}

func (r *runner) claim(ctx context.Context, locker *distlock.Locker, stdout io.Writer, asJSON bool) error {
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
	go func() {
		select {
		case s := <-signals:
			cancel(&exitError{code: exitSignal + number(s)})
		case <-ctx.Done():
		}
	}()
	handle, err := lease.HandOff(ctx)
	_ = lease.Release(ctx)
	if err != nil {
		return err
	}
	switch err = context.Cause(ctx); {
	case err != nil: // a signal
	case asJSON:
		err = json.NewEncoder(stdout).Encode(struct {
			Key    string `json:"key"`
			Handle string `json:"handle"`
			Token  uint64 `json:"token"`
		}{r.key, handle, lease.Token()})
	default:
		_, err = fmt.Fprintln(stdout, handle)
	}
	if err != nil { // nobody has the handle, so nobody could release it
		_, _ = releaseHandle(context.WithoutCancel(ctx), locker, handle)
	}
	return err
}
