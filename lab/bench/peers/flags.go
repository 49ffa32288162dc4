package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// config holds the values of the flags.
type config struct {
	redis      string           // URL; "": start a server
	urls       map[store]string // of the other servers
	replicated bool             // servers with a replica can be started; otherwise F16 is skipped
	noJava     bool             // there is no Java or no Maven
	only       []string
	peers      []string // nil: all
	short      bool
	rounds     int
	slice      time.Duration // time of each peer in each round
	patience   time.Duration // extra time for peers that do not finish
	json       string
	svg        string
	profile    string
}

// url returns the URL of a store. If it is "", the scenarios in that store are skipped.
func (c *config) url(s store) string {
	if s == inRedis {
		return c.redis
	}
	return c.urls[s]
}

func newFlags(c *config) *flag.FlagSet {
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.StringVar(&c.redis, "redis", "", "`URL` of the Redis; empty: start a redis-server from PATH and stop it at the end")
	f.Func("only", "`goals` to measure, such as F1,F4 (default all)", list(&c.only))
	f.Func("peers", "`names` of the peers to compare with "+ours+", such as bare,redsync (default all)", list(&c.peers))
	f.BoolVar(&c.short, "short", false, "a few seconds for each goal, without longer scenarios, to see that it works")
	f.IntVar(&c.rounds, "rounds", 0, "how `often` each peer has a turn (default 5, with -short 1)")
	f.DurationVar(&c.slice, "slice", 0, "how much `time` each peer has in a round (default 2s, with -short 300ms)")
	f.DurationVar(&c.patience, "patience", 0, "after what `time` a peer that does not finish is stopped (default 1m, with -short 5s)")
	f.StringVar(&c.json, "json", "", "`file` to write the figures to")
	f.StringVar(&c.svg, "svg", "", "`file` to draw the utilisation of F7 to")
	f.StringVar(&c.profile, "profile", "", "`directory` for a CPU profile of each process of ours")
	return f
}

func list(to *[]string) func(string) error {
	return func(s string) error {
		*to = nil
		for _, name := range strings.Split(s, ",") {
			if name = strings.TrimSpace(name); name != "" {
				*to = append(*to, name)
			}
		}
		return nil
	}
}

func parseFlags(args []string, stderr io.Writer) (*config, error) {
	c := new(config)
	f := newFlags(c)
	f.SetOutput(stderr)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	rounds, slice, patience := 5, 2*time.Second, time.Minute
	if c.short {
		rounds, slice, patience = 1, 300*time.Millisecond, 5*time.Second
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{{"slice", &c.slice, slice}, {"patience", &c.patience, patience}} {
		if *d.value < 0 {
			return nil, fmt.Errorf("-%s %v: is negative", d.name, *d.value)
		}
		if *d.value == 0 {
			*d.value = d.def
		}
	}
	if c.rounds < 0 {
		return nil, fmt.Errorf("-rounds %d: is negative", c.rounds)
	}
	if c.rounds == 0 {
		c.rounds = rounds
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	return c, nil
}

// check refuses unknown names.
func (c *config) check() error {
	var groups []string
	for _, s := range scenarios(false) {
		groups = append(groups, group(s.id))
	}
	groups = slices.Compact(groups)
	for i, id := range c.only {
		c.only[i] = strings.ToUpper(id)
		if !slices.Contains(groups, c.only[i]) {
			return fmt.Errorf("-only %q: want some of %s", id, strings.Join(groups, ","))
		}
	}
	for _, name := range c.peers {
		if !slices.Contains(rivals, name) {
			return fmt.Errorf("-peers %q: want some of %s", name, strings.Join(rivals, ","))
		}
	}
	if c.redis != "" {
		if _, err := redis.ParseURL(c.redis); err != nil {
			return fmt.Errorf("-redis: %w", err)
		}
	}
	return nil
}

// scenarios returns the scenarios to measure, with the peers that take part.
func (c *config) scenarios() []scenario {
	all := scenarios(c.short)
	if len(c.only) > 0 {
		all = slices.DeleteFunc(all, func(s scenario) bool { return !slices.Contains(c.only, group(s.id)) })
	}
	if c.noJava {
		all = slices.DeleteFunc(all, func(s scenario) bool { return s.java })
	}
	if len(c.peers) > 0 {
		for i := range all {
			all[i].field = slices.DeleteFunc(slices.Clone(all[i].field), func(name string) bool {
				return slices.Contains(rivals, name) && !slices.Contains(c.peers, name)
			})
		}
	}
	return all
}
