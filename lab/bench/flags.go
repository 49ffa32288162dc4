package main

import (
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/distlock-go/distlock/cmd/backendurl"
)

// config holds the values of the flags.
type config struct {
	lock                string
	users, loops, keys  int
	rampUp, think, hold time.Duration
	backend             string
}

// settings says of each value of -lock whether the lock is on in each run, in order.
var settings = map[string][]bool{"on": {true}, "off": {false}, "both": {true, false}}

// parseFlags parses args. A backend that is mistaken is found when it is opened.
func parseFlags(args []string, stderr io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&c.lock, "lock", "both", "with the lock, without, or one after the other: on, off or `both`")
	fs.IntVar(&c.users, "users", 1000, "number of `users`")
	fs.IntVar(&c.loops, "loops", 10, "number of `samples` of each user")
	fs.IntVar(&c.keys, "keys", 1, "number of `keys`, each with its own counter, over which the users are spread")
	fs.DurationVar(&c.rampUp, "ramp-up", time.Second, "the `time` over which the users start, evenly")
	fs.DurationVar(&c.think, "think", 100*time.Millisecond, "how long a user `pauses` before each sample")
	fs.DurationVar(&c.hold, "hold", 0, "`time` between reading the counter and writing it back")
	fs.StringVar(&c.backend, "backend", embedded, "`URL` of the store, or embedded, a Redis in this process: "+backendurl.Usage)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case fs.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case settings[c.lock] == nil:
		return nil, fmt.Errorf("-lock %q: want on, off or both", c.lock)
	case min(c.users, c.loops, c.keys) < 1:
		return nil, fmt.Errorf("-users %d -loops %d -keys %d: want at least 1 of each", c.users, c.loops, c.keys)
	case min(c.rampUp, c.think, c.hold) < 0:
		return nil, fmt.Errorf("-ramp-up %v -think %v -hold %v: a time is negative", c.rampUp, c.think, c.hold)
	}
	return c, nil
}
