package main

import (
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/lab/bench/internal/machine"
)

// jsonVersion is the version of the -json file. It changes when a field gets another
// meaning.
const jsonVersion = 1

// jsonReport is the content of the -json file. The HTML report is made from it.
type jsonReport struct {
	Version     int             `json:"version"`
	Date        time.Time       `json:"date"` // when the first run began
	Settings    jsonSettings    `json:"settings"`
	Machine     machine.Machine `json:"machine"`
	Interrupted bool            `json:"interrupted"`
	Runs        []jsonRun       `json:"runs"`
}

// jsonSettings are the flags that affect the result.
type jsonSettings struct {
	Plan    string  `json:"plan"`
	Users   int     `json:"users"`
	Loops   int     `json:"loops"`
	RampUp  float64 `json:"ramp_up_ms"`
	Think   float64 `json:"think_ms"`
	Hold    float64 `json:"hold_ms"` // of the plan wrap
	Keys    int     `json:"keys"`
	Backend string  `json:"backend,omitempty"` // of the plan wrap, without the parts that may be secret
	Target  string  `json:"target,omitempty"`  // of the other plans
}

type jsonRun struct {
	Plan        string           `json:"plan"`
	Lock        string           `json:"lock"` // "on" or "off"
	Users       int              `json:"users"`
	Loops       int              `json:"loops"`
	Samples     int64            `json:"samples"`
	Errors      int64            `json:"errors"`
	CutShort    int64            `json:"cut_short"`
	Expected    int64            `json:"expected"`
	Counted     *int64           `json:"counted"` // null if the service did not answer
	Throughput  float64          `json:"throughput_per_s"`
	Mean        float64          `json:"mean_ms"`
	Min         float64          `json:"min_ms"`
	P50         float64          `json:"p50_ms"`
	P90         float64          `json:"p90_ms"`
	P95         float64          `json:"p95_ms"`
	P99         float64          `json:"p99_ms"`
	Max         float64          `json:"max_ms"`
	Faults      []jsonFault      `json:"error_messages"`
	Percentiles []jsonPercentile `json:"percentiles"`
	Histogram   []jsonBin        `json:"histogram"`
	Series      jsonSeries       `json:"series"`
}

type jsonFault struct {
	Message string `json:"message"`
	Samples int64  `json:"samples"`
}

type jsonPercentile struct {
	Percent float64 `json:"percent"`
	Time    float64 `json:"ms"`
}

// jsonBin counts the samples that took From or longer and less than To.
type jsonBin struct {
	From    float64 `json:"from_ms"`
	To      float64 `json:"to_ms"`
	Samples int64   `json:"samples"`
}

// jsonSeries has a point for each interval of the run.
type jsonSeries struct {
	Interval float64     `json:"interval_ms"`
	Points   []jsonPoint `json:"points"`
}

// jsonPoint is about the samples that ended in an interval. The times are within 4 %.
type jsonPoint struct {
	Samples int64   `json:"samples"`
	Errors  int64   `json:"errors"`
	Users   int64   `json:"users"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
}

// newJSONReport returns the results of c's runs.
func newJSONReport(c *config, began time.Time, runs []*outcome, interrupted bool) *jsonReport {
	g := c.group
	r := &jsonReport{
		Version: jsonVersion, Date: began.Truncate(time.Second), Machine: machine.Here(), Interrupted: interrupted,
		Settings: jsonSettings{
			Plan: c.plan, Users: g.users, Loops: g.loops,
			RampUp: millis(g.rampUp), Think: millis(g.think), Hold: millis(c.hold), Keys: c.keys, Target: c.target,
		},
		Runs: []jsonRun{},
	}
	if c.plan == "wrap" {
		r.Settings.Backend = backendurl.Name(c.backend)
	}
	for _, o := range runs {
		r.Runs = append(r.Runs, newJSONRun(c, o))
	}
	return r
}

func newJSONRun(c *config, o *outcome) jsonRun {
	t := o.tally
	lock := "off"
	if o.locked {
		lock = "on"
	}
	r := jsonRun{
		Plan: c.plan, Lock: lock, Users: c.group.users, Loops: c.group.loops,
		Samples: t.samples, Errors: t.errors, CutShort: o.cutShort, Expected: o.expected(), Counted: o.counted,
		Throughput: math.Round(t.throughput()*100) / 100,
		Mean:       millis(t.mean()), Min: millis(t.min), Max: millis(t.max),
		P50: millis(t.percentile(50)), P90: millis(t.percentile(90)),
		P95: millis(t.percentile(95)), P99: millis(t.percentile(99)),
		Faults: []jsonFault{}, Percentiles: []jsonPercentile{}, Histogram: []jsonBin{},
		Series: jsonSeries{Interval: millis(o.series.width), Points: []jsonPoint{}},
	}
	for _, message := range o.faults.sorted() {
		r.Faults = append(r.Faults, jsonFault{message, o.faults[message]})
	}
	for _, p := range percentilesOf(t.samples) {
		r.Percentiles = append(r.Percentiles, jsonPercentile{p, millis(t.percentile(p))})
	}
	for _, b := range t.bins() {
		r.Histogram = append(r.Histogram, jsonBin{millis(b.from), millis(b.to), b.samples})
	}
	for i := range o.series.used {
		in := &o.series.intervals[i]
		r.Series.Points = append(r.Series.Points, jsonPoint{
			Samples: in.samples, Errors: in.errors, Users: o.series.users(i),
			P50: millis(in.times.percentile(50)), P99: millis(in.times.percentile(99)),
		})
	}
	return r
}

// percentilesOf returns the percentages for a number of samples: from 0 to 100, the finer
// the closer to 100, as long as at least one sample is above.
func percentilesOf(samples int64) []float64 {
	if samples == 0 {
		return nil
	}
	var all []float64
	for p := 0.0; p < 90; p += 5 {
		all = append(all, p)
	}
	rest := 10.0 // above the next percentage
	for ; rest*float64(samples) >= 100; rest /= 10 {
		for i := 10.0; i > 1; i-- {
			if part := rest * i / 10; part*float64(samples) >= 100 {
				all = append(all, math.Round((100-part)*1e9)/1e9)
			}
		}
	}
	return append(all, 100)
}

// lost returns how many confirmed increments are missing; ok is false if that is
// unknown.
func (r *jsonRun) lost() (n int64, ok bool) {
	if r.Counted == nil {
		return 0, false
	}
	return r.Expected - *r.Counted, true
}

func (r *jsonRun) errorPercent() float64 {
	if r.Samples == 0 {
		return 0
	}
	return 100 * float64(r.Errors) / float64(r.Samples)
}

// write writes the report and closes w.
func (r *jsonReport) write(w io.WriteCloser) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	err := enc.Encode(r)
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	return err
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// duration returns a time of the report.
func duration(ms float64) time.Duration { return time.Duration(math.Round(ms*1000)) * time.Microsecond }
