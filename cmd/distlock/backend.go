package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/cmd/backendurl"
)

const backendEnv = "DISTLOCK_BACKEND"

// backendFlag is a flag of every command, before its name or after it.
func backendFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "backend",
		Usage: "where the locks are, as a `URL`: " + backendurl.Usage +
			". Other users can see a command line: put a password into the variable",
		Sources:     cli.EnvVars(backendEnv),
		HideDefault: true, // it may contain a password
	}
}

// storeCommand completes a command that asks a store and ends: it has -backend, -timeout and
// -json, and no arguments. The context of its action ends after -timeout.
func storeCommand(timeout time.Duration, usageOfJSON string, command *cli.Command) *cli.Command {
	command.Flags = append(command.Flags,
		&cli.DurationFlag{Name: "timeout", Value: timeout, Usage: "stop after `TIME`"},
		&cli.BoolFlag{Name: "json", Usage: usageOfJSON},
	)
	action := command.Action
	command.Action = func(ctx context.Context, c *cli.Command) error {
		limit := c.Duration("timeout")
		switch {
		case c.Args().Present():
			return usageErrorf("unexpected argument %q (%s -help lists the flags)", c.Args().First(), c.FullName())
		case limit <= 0:
			return usageErrorf("-timeout is %v: want more than 0", limit)
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return action(ctx, c)
	}
	return command
}

// withLocker calls f with a Locker over the store that -backend names.
func withLocker(ctx context.Context, c *cli.Command, f func(*distlock.Locker) error) error {
	rawURL, err := backendOf(c)
	if err != nil {
		return err
	}
	b, err := backendurl.Open(ctx, rawURL)
	if err != nil {
		return err
	}
	locker := distlock.New(b.Backend, distlock.Config{HandOverTime: -1}) // this process has no other callers
	defer func() { _, _ = locker.Close(), b.Close() }()                  // the work is done
	return f(locker)
}

func backendOf(c *cli.Command) (string, error) {
	rawURL := c.String("backend")
	if rawURL == "" {
		return "", usageErrorf("-backend is missing, and so is %s, which distlock run does not pass on: want a URL such as redis://127.0.0.1:6379/0", backendEnv)
	}
	return rawURL, nil
}

func keyFlag(c *cli.Command) (string, error) {
	switch key := c.String("key"); key {
	case "":
		return "", usageErrorf("-key is missing, or empty")
	case "--": // a shell turns -key $UNSET -- into this
		return "", usageErrorf("-key has no value before --")
	default:
		return key, nil
	}
}
