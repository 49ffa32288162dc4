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

func releaseHandle(ctx context.Context, locker *distlock.Locker, handle string) (key string, err error) {
	lease, err := locker.Adopt(ctx, handle, distlock.Opts{})
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
