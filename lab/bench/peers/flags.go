package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// config holds the values of the flags.
type config struct {
	only    []string
	peers   []string // nil: all
	rounds  int
	slice   time.Duration // time of each peer in each round
	profile string
}

func parseFlags(args []string, stderr io.Writer) (*config, error) {
	c := new(config)
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Func("only", "`goals` to measure, such as F1,F4 (default all)", list(&c.only))
	f.Func("peers", "`names` of the peers to compare with "+ours+", such as bare,redsync (default all)", list(&c.peers))
	f.IntVar(&c.rounds, "rounds", 5, "how `often` all peers have their turns")
	f.DurationVar(&c.slice, "slice", time.Second, "how much `time` each peer has in a round")
	f.StringVar(&c.profile, "profile", "", "`directory` for a CPU profile of each process of "+ours)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	err := c.check(f.Args())
	return c, err
}

func list(to *[]string) func(string) error {
	return func(s string) error {
		*to = strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
		return nil
	}
}

func (c *config) check(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("unexpected argument %q", rest[0])
	}
	if c.rounds <= 0 {
		return fmt.Errorf("-rounds %d: is not positive", c.rounds)
	}
	if c.slice <= 0 {
		return fmt.Errorf("-slice %v: is not positive", c.slice)
	}
	var groups []string
	for _, s := range allScenarios() {
		groups = append(groups, s.group())
	}
	groups = slices.Compact(groups)
	for _, id := range c.only {
		if !slices.Contains(groups, id) {
			return fmt.Errorf("-only %q: want some of %s", id, strings.Join(groups, ","))
		}
	}
	for _, name := range c.peers {
		if !slices.Contains(rivals, name) {
			return fmt.Errorf("-peers %q: want some of %s", name, strings.Join(rivals, ","))
		}
	}
	return nil
}

// scenarios returns the scenarios to measure, with the peers that take part.
func (c *config) scenarios() []*scenario {
	var some []*scenario
	for _, s := range allScenarios() {
		if len(c.only) > 0 && !slices.Contains(c.only, s.group()) {
			continue
		}
		if len(c.peers) > 0 {
			s.field = slices.DeleteFunc(slices.Clone(s.field), func(name string) bool {
				return slices.Contains(rivals, name) && !slices.Contains(c.peers, name)
			})
		}
		some = append(some, s)
	}
	return some
}
