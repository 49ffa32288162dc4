package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/wiring"
)

func keyCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name:  "key",
		Usage: "print the key of a lock with parameters",
		Description: "The parameters are those of the locked function as people write them, whatever their types: 42,\n" +
			"tea, 2026-05-04T12:00:00Z. The fields of a struct and the elements of a list are parameters, too.\n" +
			"Without parameters the key is prefix and value.",
		UsageText: "distlock key [-prefix shop:] -value pay [--] [parameters]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "prefix", Usage: "`TEXT` of Opts.Prefix"},
			&cli.StringFlag{Name: "value", Usage: "`TEXT` of Opts.Value"},
		},
		Action: func(_ context.Context, c *cli.Command) error {
			o := distlock.Opts{Prefix: c.String("prefix"), Value: c.String("value"), ParamLock: c.Args().Present()}
			if o.Value == "" {
				return usageErrorf("-value is missing, or empty")
			}
			key, err := wiring.Key(o, c.Args().Slice())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(stdout, key)
			return err
		},
	}
}
