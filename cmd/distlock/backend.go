package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/cmd/backendurl"
)

const backendEnv = "DISTLOCK_BACKEND"

// backendFlag is a flag of every command.
func backendFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "backend",
		Usage: "where the locks are, as a `URL`: " + backendurl.Shared +
			". Other users can see a command line: put a password into the variable",
		Sources:     cli.EnvVars(backendEnv),
		HideDefault: true, // it may contain a password
	}
}

// openLocker returns a Locker over the store that -backend names, and a function that
// closes both.
func openLocker(ctx context.Context, c *cli.Command) (*distlock.Locker, func() error, error) {
	rawURL, err := backendOf(c)
	if err != nil {
		return nil, nil, err
	}
	b, err := backendurl.Open(ctx, rawURL)
	if err != nil {
		return nil, nil, err
	}
	l := distlock.New(b.Backend, distlock.Config{HandOverTime: -1}) // this process has no other callers
	return l, func() error { return errors.Join(l.Close(), b.Close()) }, nil
}

// backendOf returns the value of -backend. It names a store outside this process.
func backendOf(c *cli.Command) (string, error) {
	rawURL := c.String("backend")
	switch {
	case rawURL == "":
		return "", usageErrorf("-backend is missing, and so is %s: want a URL such as redis://127.0.0.1:6379/0", backendEnv)
	case backendurl.InProcess(rawURL):
		return "", usageErrorf("-backend %q: its locks are inside this process and exclude only this process", rawURL)
	}
	return rawURL, nil
}

// noArguments refuses arguments of a command that has only flags.
func noArguments(c *cli.Command) error {
	if c.Args().Present() {
		return usageErrorf("unexpected argument %q (%s -help lists the flags)", c.Args().First(), c.FullName())
	}
	return nil
}

// keyFlag returns the value of -key.
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
