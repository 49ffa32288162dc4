package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock/cmd/backendurl"
)

// config holds the values of the flags.
type config struct {
	lock    string
	group   threadGroup
	hold    holdRange
	keys    int
	lockers int // 0: one for all users
	backend string
	elected *election // nil without lockers
}

// settings says of each value of -lock whether the lock is on in each run, in order.
var settings = map[string][]bool{"on": {true}, "off": {false}, "both": {true, false}}

// parseFlags parses args, and returns the first mistake in them. If they ask for help, it
// writes that. A backend that is mistaken is found when it is opened.
func parseFlags(args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // run prints one line instead
	fs.StringVar(&c.lock, "lock", "both", "with the lock, without, or one after the other: on, off or `both`")
	fs.IntVar(&c.group.users, "users", 1000, "number of `users`")
	fs.IntVar(&c.group.loops, "loops", 10, "number of `samples` of each user")
	fs.DurationVar(&c.group.rampUp, "ramp-up", time.Second, "the `time` over which the users start, evenly")
	fs.DurationVar(&c.group.think, "think", 100*time.Millisecond, "how long a user `pauses` before each sample")
	fs.Var(&c.hold, "hold", "`time` between reading the counter and writing it back, or a range to draw it from, such as 500ms..3500ms")
	fs.IntVar(&c.keys, "keys", 1, "number of `keys`, each with its own counter, over which the users are spread")
	fs.IntVar(&c.lockers, "lockers", 0, "elect leaders: `n` users, each with a Locker and a connection of its own, who say whom they follow; "+
		"the defaults are then -loops 1 -ramp-up 0 -think 0 -lock on")
	fs.StringVar(&c.backend, "backend", embedded, "`URL` of the store, or embedded, a Redis in this process: "+backendurl.Usage)
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprintln(help, "bench puts load on a distributed lock and counts the updates that it protects.")
		fs.SetOutput(help)
		fs.PrintDefaults()
	}
	if err == nil {
		c.elect(fs)
		err = c.validate(fs)
	}
	return c, err
}

// elect sets the defaults of -lockers, where the flags say nothing else.
func (c *config) elect(fs *flag.FlagSet) {
	if c.lockers < 1 {
		return
	}
	defaults := map[string]string{"users": strconv.Itoa(c.lockers), "loops": "1", "ramp-up": "0", "think": "0", "lock": "on"}
	fs.Visit(func(f *flag.Flag) { delete(defaults, f.Name) })
	for name, value := range defaults {
		_ = fs.Set(name, value) // it is valid
	}
}

func (c *config) validate(fs *flag.FlagSet) error {
	bad := func(name, fault string) error {
		return fmt.Errorf("-%s %q: %s", name, fs.Lookup(name).Value, fault)
	}
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case settings[c.lock] == nil:
		return bad("lock", "want on, off or both")
	case c.group.users < 1:
		return bad("users", "want at least 1")
	case c.lockers < 0:
		return bad("lockers", "is negative")
	case c.lockers > 0 && c.group.users != c.lockers:
		return bad("users", fmt.Sprintf("-lockers %d has one user for each locker", c.lockers))
	case c.lockers > 0 && c.lock != "on":
		return bad("lock", "-lockers needs the lock: nobody leads without it")
	case c.lockers > 0 && c.keys != 1:
		return bad("keys", "-lockers elects one leader, with one key")
	case c.group.loops < 1:
		return bad("loops", "want at least 1")
	case c.group.loops > math.MaxInt32/c.group.users:
		return bad("loops", fmt.Sprintf("with %d users that is more than %d samples, the most that a counter holds",
			c.group.users, math.MaxInt32))
	case c.keys < 1:
		return bad("keys", "want at least 1")
	case c.group.rampUp < 0:
		return bad("ramp-up", "is negative")
	case c.group.think < 0:
		return bad("think", "is negative")
	case c.hold.shortest < 0 || c.hold.longest < 0:
		return bad("hold", "is negative")
	case c.hold.longest < c.hold.shortest:
		return bad("hold", "want the shorter time first")
	default:
		return nil
	}
}

// oneLine puts the text of an error on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
