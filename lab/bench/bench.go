package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
)

// bench does the runs of c and reports them: as a table on stdout.
// After a failure it still reports the results so far.
func bench(ctx context.Context, c *config, stdout io.Writer) error {
	var runs []*outcome
	var failure error
	if c.lockers > 0 {
		c.elected = newElection(c.lockers, stdout)
	}
	for _, locked := range settings[c.lock] {
		p, err := openPlan(ctx, c, locked)
		if err == nil {
			var o *outcome
			o, err = runPlan(ctx, c, p, locked)
			runs = append(runs, o)
		} else if ctx.Err() != nil {
			err = nil // an interrupt before the first run is not a failure
		}
		if failure = err; err != nil || ctx.Err() != nil {
			break
		}
	}
	err := report(stdout, c, runs, ctx.Err() != nil)
	for _, o := range runs {
		failure = cmp.Or(failure, o.verdict())
	}
	return cmp.Or(failure, err)
}

// report writes the number of runs, the table, and the counters.
func report(w io.Writer, c *config, runs []*outcome, interrupted bool) error {
	var b strings.Builder
	if len(runs) > 0 {
		fmt.Fprintf(&b, "%s\n\n", c.summary())
		writeTable(&b, runs, c.elected)
		b.WriteByte('\n')
	}
	for _, o := range runs {
		b.WriteString(o.counters() + "\n")
	}
	if interrupted {
		b.WriteString("interrupted: these are the results so far\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// summary returns the line above the table: the settings that affect the result.
func (c *config) summary() string {
	g := c.group
	who := "users"
	if c.lockers > 0 {
		who = "lockers"
	}
	return fmt.Sprintf("wrap: %s %s x %s loops, ramp-up %v, think %v, hold %v, keys %d, backend %s",
		group(int64(g.users)), who, group(int64(g.loops)), g.rampUp, g.think, &c.hold, c.keys, nameOf(c.backend))
}
