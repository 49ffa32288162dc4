package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
)

func releaseCommand(stdout io.Writer) *cli.Command {
	return storeCommand(10*time.Second, "print an object with key and held", &cli.Command{
		Name:  "release",
		Usage: "give back a lock of distlock claim, ask a holder for a lock, or take it away",
		Description: "Without -ask and -force it gives the lock of the handle in " + handleEnv + " back. The exit code is 70 if\n" +
			"that was lost.\n\n" +
			"With -ask a holder that listens gives the key back when it can: distlock run -revocable, a program\n" +
			"that uses Lease.Revoked, or Curator's makeRevocable.\n\n" +
			"With -force a waiter gets the key at once. The old holder learns of it at its next renewal, up to a\n" +
			"third of its lease later: until then both may work. Stop the holder first if you can.\n\n" +
			"The exit code is 0 if the key had a holder, and 1 if it had none.",
		UsageText: "distlock release [-ask -key deploy | -force -key deploy] [-timeout 10s] [-json]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "key", Usage: "the whole `KEY`, as distlock ls shows it"},
			&cli.BoolFlag{Name: "ask", Usage: "ask the holder to give the key back"},
			&cli.BoolFlag{Name: "force", Usage: "take the key away"},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if !c.IsSet("key") && !c.Bool("ask") && !c.Bool("force") {
				return withHandle(ctx, c, stdout, "released", releaseHandle)
			}
			key, err := keyFlag(c)
			if err != nil {
				return err
			}
			if c.Bool("ask") == c.Bool("force") {
				return usageErrorf("want either -ask, or -force: then the holder of %q may continue until its next renewal; or no -key, for the lock of %s", key, handleEnv)
			}
			release, done := admin.ForceRelease, "released"
			if c.Bool("ask") {
				release, done = admin.Revoke, "asked the holder of"
			}
			return withLocker(ctx, c, func(locker *distlock.Locker) error {
				held, err := release(ctx, locker, key)
				if err != nil {
					return err
				}
				return writeReleased(stdout, c.Bool("json"), done, key, held)
			})
		},
	})
}

// handleEnv has the handle, because it is a secret, and other users can see arguments.
const handleEnv = "DISTLOCK_HANDLE"

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

// releaseHandle adopts the lease for a short time, because the handle is then used up: if this
// process is killed before it has released the key, nobody else can.
func releaseHandle(ctx context.Context, locker *distlock.Locker, handle string) (key string, err error) {
	lease, err := locker.Adopt(ctx, handle, distlock.Opts{KeyTimeout: distlock.DefaultKeyTimeout})
	if e, ok := errors.AsType[*distlock.Error](err); ok && e.Op == "acquire" {
		e.Op = "release" // what was asked for
	}
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

func writeReleased(w io.Writer, asJSON bool, done, key string, held bool) (err error) {
	switch {
	case asJSON:
		err = json.NewEncoder(w).Encode(struct {
			Key  string `json:"key"`
			Held bool   `json:"held"`
		}{key, held})
	case held:
		_, err = fmt.Fprintf(w, "%s %s\n", done, printable(key))
	default:
		_, err = fmt.Fprintf(w, "%s has no holder\n", printable(key))
	}
	if err == nil && !held {
		err = &exitError{code: exitNotHeld}
	}
	return err
}
