package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/distlock-go/distlock/cmd/backendurl"
)

// bench does the runs of c and reports them: as a table on stdout and in the JTL file.
// After a failure it still reports the results so far.
func bench(ctx context.Context, c *config, stdout io.Writer) error {
	jtl, err := openJTL(c.jtl)
	if err != nil {
		return err
	}
	var runs []*outcome
	var failure error
	for i, locked := range c.settings() {
		o, err := runLoad(ctx, c, locked, i+1, jtl)
		if o == nil && ctx.Err() != nil {
			break // an interrupt before the first run is not a failure
		}
		if o != nil {
			runs = append(runs, o)
		}
		if failure = err; err != nil || ctx.Err() != nil {
			break
		}
	}
	err = errors.Join(report(stdout, c, runs, ctx.Err() != nil), jtl.close())
	for _, o := range runs {
		failure = firstOf(failure, o.verdict())
	}
	return firstOf(failure, err)
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// report writes the number of runs, the table, and the counters.
func report(w io.Writer, c *config, runs []*outcome, interrupted bool) error {
	var b strings.Builder
	if len(runs) > 0 {
		fmt.Fprintf(&b, "%s\n\n", c.summary())
		writeTable(&b, runs)
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
	s := fmt.Sprintf("%s: %s users x %s loops, ramp-up %v, think %v", c.plan, group(int64(g.users)), group(int64(g.loops)), g.rampUp, g.think)
	if c.plan == "wrap" {
		s += fmt.Sprintf(", hold %v", c.hold)
	}
	s += fmt.Sprintf(", keys %d, ", c.keys)
	if c.plan != "wrap" {
		return s + "target " + c.target
	}
	return s + "backend " + backendurl.Name(c.backend)
}

// openJTL opens the JTL file before the load runs, so that a bad file name is found first.
// Without a name there is no file.
func openJTL(path string) (*jtlWriter, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // a nil writer writes nothing
	}
	file, err := os.Create(path)
	if err != nil {
		if p := (*os.PathError)(nil); errors.As(err, &p) {
			err = p.Err // the message names the path already
		}
		return nil, badFlag("jtl", path, err.Error())
	}
	return newJTLWriter(file), nil
}
