package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/distlock-go/distlock/cmd/backendurl"
)

// bench does the runs of c and reports them: as a table on stdout and in files. After a
// failure it still reports the results so far.
func bench(ctx context.Context, c *config, stdout, stderr io.Writer) error {
	files, err := openFiles(c)
	if err != nil {
		return err
	}
	var runs []*outcome
	var failure error
	began := time.Now()
	for i, locked := range c.settings() {
		o, err := runLoad(ctx, c, locked, i+1, files.jtl, stderr)
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
	results := newJSONReport(c, began, runs, ctx.Err() != nil)
	err = errors.Join(report(stdout, c, runs, results.Interrupted), files.close(results))
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

// files are the output files. They are opened before the load runs, so that a bad file
// name is found first.
type files struct {
	jtl  *jtlWriter
	json *os.File
	page *os.File
}

func openFiles(c *config) (files, error) {
	var f files
	var err error
	if c.report != "" {
		if f.page, err = openPage(c.report); err != nil {
			return f, err
		}
	}
	if c.json != "" {
		if f.json, err = os.Create(c.json); err != nil {
			f.abandon()
			return f, badFile("json", c.json, err)
		}
	}
	if c.jtl != "" {
		file, err := os.Create(c.jtl)
		if err != nil {
			f.abandon()
			return f, badFile("jtl", c.jtl, err)
		}
		f.jtl = newJTLWriter(file)
	}
	return f, nil
}

// openPage creates the file of the HTML report, and its directory.
func openPage(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, badFile("report", dir, err)
	}
	file, err := os.Create(filepath.Join(dir, "index.html"))
	if err != nil {
		return nil, badFile("report", dir, err)
	}
	return file, nil
}

func badFile(name, path string, err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err // the message names the path already
	}
	return badFlag(name, path, err.Error())
}

// close writes the rest and closes the files.
func (f files) close(r *jsonReport) error {
	err := f.jtl.close()
	if f.json != nil {
		err = errors.Join(err, r.write(f.json))
	}
	if f.page != nil {
		err = errors.Join(err, newPage(r).write(f.page))
	}
	return err
}

// abandon closes the files without content.
func (f files) abandon() {
	_ = f.jtl.close()
	for _, file := range []*os.File{f.json, f.page} {
		if file != nil {
			_ = file.Close()
		}
	}
}
