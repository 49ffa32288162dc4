package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// sample is a line of a file of samples.
type sample struct {
	label   string
	elapsed int // in milliseconds
	failure string
}

type samples []sample

// readSamples reads the CSV file that JMeter and bench write.
func readSamples(path string) (samples, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || len(lines) == 0 {
		return nil, fmt.Errorf("%s: not a file of samples: %w", path, err)
	}
	column := func(name string) int { return slices.Index(lines[0], name) }
	elapsed, label, success := column("elapsed"), column("label"), column("success")
	code, message := column("responseCode"), column("failureMessage")
	if min(elapsed, label, success, code, message) < 0 {
		return nil, fmt.Errorf("%s: a column is missing: %q", path, lines[0])
	}
	var all samples
	for _, line := range lines[1:] {
		s := sample{label: line[label]}
		if s.elapsed, err = strconv.Atoi(line[elapsed]); err != nil {
			return nil, fmt.Errorf("%s: elapsed: %w", path, err)
		}
		if line[success] != "true" {
			s.failure = strings.TrimSpace(line[code] + " " + line[message])
		}
		all = append(all, s)
	}
	return all, nil
}

func (all samples) labelled(label string) samples {
	return slices.DeleteFunc(slices.Clone(all), func(s sample) bool { return s.label != label })
}

// failed returns the failures of a label.
func (all samples) failed(label string) (failures []string) {
	for _, s := range all.labelled(label) {
		if s.failure != "" {
			failures = append(failures, s.failure)
		}
	}
	return failures
}

// complete returns an error if the plan did not do all its samples, or if one failed
// that is not the stock.
func (all samples) complete(l load) error {
	for label, want := range map[string]int{"restart the sale": 1, "order": l.orders(), "stock": 1} {
		if n := len(all.labelled(label)); n != want {
			return fmt.Errorf("%d samples %q, want %d", n, label, want)
		}
		if failures := all.failed(label); label != "stock" && len(failures) > 0 {
			return fmt.Errorf("%d samples %q failed, the first with: %s", len(failures), label, failures[0])
		}
	}
	return nil
}

// passes returns nil if the plan has passed.
func (r planRun) passes(l load) error {
	if err := r.samples.complete(l); err != nil {
		return err
	}
	if failures := r.samples.failed("stock"); len(failures) > 0 {
		return errors.New(failures[0])
	}
	return nil
}

// failsByStock returns nil if the plan has failed, and only by its assertion about the
// stock.
func (r planRun) failsByStock(l load) error {
	if err := r.samples.complete(l); err != nil {
		return err
	}
	failures := r.samples.failed("stock")
	if len(failures) == 0 {
		return errors.New("it passes")
	}
	if !strings.Contains(failures[0], "'$.stock' expected to be '0'") {
		return errors.New(failures[0])
	}
	return nil
}
