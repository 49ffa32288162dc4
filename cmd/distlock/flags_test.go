package main

import (
	"reflect"
	"testing"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/optfield"
)

// Each option of a lock that has a flag is set by that flag, and only that option.
func TestLockFlags(t *testing.T) {
	t.Parallel()
	for _, f := range optfield.All() {
		if f.Flag() == "" {
			continue
		}
		var got, want distlock.Opts
		args := []string{"run", "-" + f.Flag()}
		switch p := f.Of(&want).(type) {
		case *string:
			*p, args = "x", append(args, "x")
		case *bool:
			*p = true
		case *int:
			*p, args = 7, append(args, "7")
		case *time.Duration:
			*p, args = 7*time.Second, append(args, "7s")
		case *distlock.Mode:
			*p = distlock.Shared
		}
		run := &cli.Command{Name: "run", Flags: lockFlags(&got)}
		if err := run.Run(t.Context(), args); err != nil || !reflect.DeepEqual(got, want) { //nolint:govet // an Opts has an error only in a Selector, and there is none
			t.Errorf("%q: %+v, %v; want %+v", args, got, err, want)
		}
	}
}
