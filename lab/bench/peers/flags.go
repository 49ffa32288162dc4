package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// config holds the values of the flags.
type config struct {
	scenarios []*scenario
	rounds    int
	slice     time.Duration // time of each peer in each round
	profile   string
}

func parseFlags(args []string, stderr io.Writer) (*config, error) {
	c := new(config)
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Func("only", "`goals` to measure, such as F1,F4 (default all)", c.only)
	f.IntVar(&c.rounds, "rounds", 5, "how `often` all peers have their turns")
	f.DurationVar(&c.slice, "slice", time.Second, "how much `time` each peer has in a round")
	f.StringVar(&c.profile, "profile", "", "`directory` for a CPU profile of each process of "+ours)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case c.rounds <= 0 || c.slice <= 0:
		return nil, fmt.Errorf("-rounds %d -slice %v: want more than 0 of each", c.rounds, c.slice)
	case c.scenarios == nil:
		c.scenarios = allScenarios()
	}
	return c, nil
}

// only chooses the scenarios of goals.
func (c *config) only(goals string) error {
	for id := range strings.SplitSeq(goals, ",") {
		before := len(c.scenarios)
		for _, s := range allScenarios() {
			if s.group() == id {
				c.scenarios = append(c.scenarios, s)
			}
		}
		if len(c.scenarios) == before {
			return errors.New("there is no goal " + id)
		}
	}
	return nil
}
