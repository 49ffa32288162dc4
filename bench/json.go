package main

import (
	"encoding/json"
	"io"
	"math"
	"time"
)

// jsonReport is the content of the -json file.
type jsonReport struct {
	Runs []jsonRun `json:"runs"`
}

type jsonRun struct {
	Plan       string  `json:"plan"`
	Lock       string  `json:"lock"` // "on" or "off"
	Users      int     `json:"users"`
	Loops      int     `json:"loops"`
	Samples    int64   `json:"samples"`
	Errors     int64   `json:"errors"`
	Expected   int64   `json:"expected"`
	Counted    *int64  `json:"counted"` // null if the service did not answer
	Throughput float64 `json:"throughput_per_s"`
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
	Max        float64 `json:"max_ms"`
}

// writeJSON writes the report and closes w.
func writeJSON(w io.WriteCloser, c *config, runs []*outcome) error {
	report := jsonReport{Runs: []jsonRun{}}
	for _, o := range runs {
		lock := "off"
		if o.locked {
			lock = "on"
		}
		report.Runs = append(report.Runs, jsonRun{
			Plan: c.plan, Lock: lock, Users: c.group.users, Loops: c.group.loops,
			Samples: o.tally.samples, Errors: o.tally.errors, Expected: o.expected(), Counted: o.counted,
			Throughput: math.Round(o.tally.throughput()*100) / 100,
			P50:        millis(o.tally.percentile(50)), P99: millis(o.tally.percentile(99)), Max: millis(o.tally.max),
		})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	err := enc.Encode(report)
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	return err
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
