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
		Usage: "take a lock from a holder that is stuck",
		Description: "Who waits gets the key at once. The deposed holder learns it by its next renewal, up to a third of\n" +
			"its lease later: until then two may work. Stop the holder first if you can; that is what -force\n" +
			"confirms. The exit code is 0 if somebody had the key, and 1 if nobody had.",
		UsageText: "distlock release -force -key deploy [-backend URL] [-timeout 10s] [-json]",
		Flags: []cli.Flag{
			backendFlag(),
			&cli.StringFlag{Name: "key", Usage: "the whole `KEY`, as distlock ls shows it"},
			&cli.BoolFlag{Name: "force", Usage: "yes, take it away; without this nothing is done"},
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
				return usageErrorf("-force is missing: the holder of %q is not asked, and may go on until its next renewal", key)
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
		_, err = fmt.Fprintf(w, "nobody has %s\n", printable(key))
	}
	if err == nil && !held {
		err = &exitError{code: exitNotHeld}
	}
	return err
}
