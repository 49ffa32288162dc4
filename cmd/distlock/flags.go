package main

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/optfield"
)

// lockFlags returns the flags for the options of a lock. They set o, and show the
// values that are in it as defaults.
func lockFlags(o *distlock.Opts) []cli.Flag {
	var flags []cli.Flag
	for _, f := range optfield.All() {
		name, usage := f.Flag(), f.Usage
		if name == "" {
			continue
		}
		switch p := f.Of(o).(type) {
		case *string:
			flags = append(flags, &cli.StringFlag{Name: name, Usage: usage, Destination: p, Value: *p, HideDefault: *p == ""})
		case *bool:
			flags = append(flags, &cli.BoolFlag{Name: name, Usage: usage, Destination: p})
		case *int:
			flags = append(flags, &cli.IntFlag{Name: name, Usage: usage, Destination: p, Value: *p, HideDefault: *p == 0})
		case *time.Duration:
			flags = append(flags, &cli.DurationFlag{Name: name, Usage: usage, Destination: p, Value: *p, HideDefault: *p == 0})
		case *distlock.Mode: // -shared
			flags = append(flags, &cli.BoolFlag{Name: name, Usage: usage, Action: func(_ context.Context, _ *cli.Command, shared bool) error {
				if shared {
					*p = distlock.Shared
				}
				return nil
			}})
		}
	}
	return flags
}

// inFlags returns err with the names of flags if it is about options.
func inFlags(err error) error {
	var errs []error
	for _, fault := range optfield.Faults(err) {
		errs = append(errs, errors.New(fault.Rename(optfield.FlagName)))
	}
	if len(errs) == 0 {
		return err
	}
	return &exitError{exitUsage, errors.Join(errs...)}
}
