package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// compareFiles sets the results of two files beside each other: as a table on stdout,
// and with -report as an HTML page.
func compareFiles(c *config, stdout io.Writer) error {
	var reports [2]*jsonReport
	for i, name := range c.compared {
		r, err := readReport(name)
		if err != nil {
			return badFlag("compare", name, err.Error())
		}
		reports[i] = r
	}
	cmp, err := newComparison(c.compared, reports)
	if err != nil {
		return &usageError{fmt.Errorf("-compare: %w", err)}
	}
	if c.report != "" {
		file, err := openPage(c.report)
		if err != nil {
			return err
		}
		if err := cmp.page().write(file); err != nil {
			return err
		}
	}
	_, err = io.WriteString(stdout, cmp.text())
	return err
}

// reportFile makes the HTML page of a file.
func reportFile(c *config) error {
	r, err := readReport(c.from)
	if err != nil {
		return badFlag("from", c.from, err.Error())
	}
	file, err := openPage(c.report)
	if err != nil {
		return err
	}
	return newPage(r).write(file)
}

// readReport reads a file of -json.
func readReport(path string) (*jsonReport, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		if p := (*os.PathError)(nil); errors.As(err, &p) {
			err = p.Err
		}
		return nil, err
	}
	var v struct {
		Version *int              `json:"version"`
		Runs    []json.RawMessage `json:"runs"`
	}
	if err := json.Unmarshal(text, &v); err != nil || v.Runs == nil {
		return nil, errors.New("is not a file that -json wrote")
	}
	switch {
	case v.Version == nil:
		return nil, fmt.Errorf("version: missing, want %d: an older bench wrote the file", jsonVersion)
	case *v.Version != jsonVersion:
		return nil, fmt.Errorf("version: %d, want %d: another bench wrote the file", *v.Version, jsonVersion)
	}
	r := &jsonReport{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("is not a file that -json wrote: %w", err)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, nil
}

// comparison has the runs of two reports.
type comparison struct {
	names   [2]string
	reports [2]*jsonReport
	pairs   []pair
}

// pair is one lock setting in both reports.
type pair struct {
	lock   string
	curves [2]curve
}

// newComparison returns an error that names what does not fit: runs of different loads
// say nothing about each other. Backends and targets may differ, to compare stores.
func newComparison(paths [2]string, reports [2]*jsonReport) (*comparison, error) {
	var faults []string
	differ := func(name string, a, b any) {
		if a != b {
			faults = append(faults, fmt.Sprintf("%s: %v and %v", name, a, b))
		}
	}
	a, b := reports[0].Settings, reports[1].Settings
	differ("plan", a.Plan, b.Plan)
	differ("users", a.Users, b.Users)
	differ("loops", a.Loops, b.Loops)
	differ("ramp-up", duration(a.RampUp), duration(b.RampUp))
	differ("think", duration(a.Think), duration(b.Think))
	differ("hold", duration(a.Hold), duration(b.Hold))
	differ("keys", a.Keys, b.Keys)
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s and %s do not have the same load: %s", paths[0], paths[1], strings.Join(faults, "; "))
	}
	c := &comparison{names: curveNames(paths, reports), reports: reports}
	for i := range reports[0].Runs {
		for j := range reports[1].Runs {
			if a, b := &reports[0].Runs[i], &reports[1].Runs[j]; a.Lock == b.Lock {
				c.pairs = append(c.pairs, pair{a.Lock, [2]curve{{c.names[0], a}, {c.names[1], b}}})
			}
		}
	}
	if len(c.pairs) == 0 {
		return nil, fmt.Errorf("lock: %s has %s, %s has %s: want a run with the same setting in both",
			paths[0], locks(reports[0]), paths[1], locks(reports[1]))
	}
	return c, nil
}

// locks names the lock settings of a report.
func locks(r *jsonReport) string {
	var all []string
	for _, run := range r.Runs {
		all = append(all, run.Lock)
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// curveNames returns short names for two reports: the schemes of their backends if those
// tell them apart, and otherwise the names of the files.
func curveNames(paths [2]string, reports [2]*jsonReport) [2]string {
	var schemes, files [2]string
	for i, r := range reports {
		schemes[i], _, _ = strings.Cut(r.Settings.Backend, ":")
		files[i] = strings.TrimSuffix(filepath.Base(paths[i]), ".json")
	}
	switch {
	case schemes[0] != schemes[1]:
		return schemes
	case files[0] != files[1]:
		return files
	default:
		return paths
	}
}

// notes says which load was interrupted.
func (c *comparison) notes() []string {
	var all []string
	for i, r := range c.reports {
		if r.Interrupted {
			all = append(all, "The load of "+c.names[i]+" was interrupted: these are the results until then.")
		}
	}
	return all
}

// text returns the tables for stdout.
func (c *comparison) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", c.reports[0].Settings.load())
	for i, r := range c.reports {
		fmt.Fprintf(&b, "%s: %s\n", c.names[i], r.origin())
	}
	for _, p := range c.pairs {
		table := differences(p.curves[0], p.curves[1])
		table.Header[0] = labelOf(c.reports[0].Settings.Plan, p.lock == "on")
		rows := [][]string{table.Header}
		for _, cells := range table.Rows {
			var row []string
			for _, cell := range cells {
				row = append(row, cell.Text)
			}
			rows = append(rows, row)
		}
		b.WriteByte('\n')
		align(&b, rows)
	}
	for _, n := range c.notes() {
		b.WriteString("\n" + n + "\n")
	}
	return b.String()
}

// page returns the HTML page.
func (c *comparison) page() *page {
	settings := settingsGrid(c.names[:], c.reports[:]...)
	p := &page{
		Style: pageStyle, Title: c.names[0] + " and " + c.names[1] + ": " + c.reports[0].Settings.load(),
		Settings: &settings, Notes: c.notes(),
	}
	for i, r := range c.reports {
		p.Lead = append(p.Lead, c.names[i]+": "+r.origin())
	}
	for _, pair := range c.pairs {
		p.Groups = append(p.Groups, newPanel(lockName(pair.lock), pair.curves[:], differences(pair.curves[0], pair.curves[1])))
	}
	return p
}
