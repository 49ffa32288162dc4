package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/urfave/cli/v3"
)

func releaseCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name:  "release",
		Usage: "take a lock away from a holder that is stuck",
		Description: "A waiter gets the key at once. The old holder learns of it at its next renewal, up to a third of\n" +
			"its lease later: until then both may work. Stop the holder first if you can; -force confirms that\n" +
			"you know this. The exit code is 0 if the key had a holder, and 1 if it had none.",
		UsageText: "distlock release -force -key deploy [-backend URL] [-timeout 10s] [-json]",
		Flags: []cli.Flag{
			backendFlag(),
			&cli.StringFlag{Name: "key", Usage: "the whole `KEY`, as distlock ls shows it"},
			&cli.BoolFlag{Name: "force", Usage: "required: take the key away"},
			timeoutFlag(),
			&cli.BoolFlag{Name: "json", Usage: "print an object with key and held"},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			key, err := keyFlag(c)
			if err != nil {
				return err
			}
			if err := noArguments(c); err != nil {
				return err
			}
			if !c.Bool("force") {
				return usageErrorf("-force is missing: the holder of %q is not asked, and may continue until its next renewal", key)
			}
			ctx, cancel, err := withTimeout(ctx, c)
			if err != nil {
				return err
			}
			defer cancel()
			locker, closeAll, err := openLocker(ctx, c)
			if err != nil {
				return err
			}
			defer closeAll() //nolint:errcheck // the lock was released
			held, err := locker.ForceRelease(ctx, key)
			if err != nil {
				return err
			}
			return writeReleased(stdout, c.Bool("json"), key, held)
		},
	}
}

func writeReleased(w io.Writer, asJSON bool, key string, held bool) (err error) {
	switch {
	case asJSON:
		err = json.NewEncoder(w).Encode(struct {
			Key  string `json:"key"`
			Held bool   `json:"held"`
		}{key, held})
	case held:
		_, err = fmt.Fprintf(w, "released %s\n", printable(key))
	default:
		_, err = fmt.Fprintf(w, "%s has no holder\n", printable(key))
	}
	if err == nil && !held {
		err = &exitError{code: exitNotHeld}
	}
	return err
}
