package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"
)

// figures are the statistics of the samples of one label. Times are in milliseconds.
type figures struct {
	samples, errors          int
	mean, p50, p90, p95, p99 float64
	min, max                 float64
	throughput               float64 // samples per second
}

// readStatistics reads the statistics.json of JMeter's report: the figures by label.
func readStatistics(path string) (map[string]figures, error) {
	var labels map[string]struct {
		SampleCount, ErrorCount               int
		MeanResTime, MedianResTime            float64
		Pct1ResTime, Pct2ResTime, Pct3ResTime float64
		MinResTime, MaxResTime, Throughput    float64
	}
	if err := readJSON(path, &labels); err != nil {
		return nil, err
	}
	all := map[string]figures{}
	for label, s := range labels {
		all[label] = figures{s.SampleCount, s.ErrorCount, s.MeanResTime, s.MedianResTime, s.Pct1ResTime, s.Pct2ResTime, s.Pct3ResTime,
			s.MinResTime, s.MaxResTime, s.Throughput}
	}
	return all, nil
}

// readResults reads the file of bench -json: the figures with the lock and without.
func readResults(path string) (f [2]figures, err error) {
	var results struct {
		Runs []struct {
			Samples, Errors int
			Mean            float64 `json:"mean_ms"`
			P50             float64 `json:"p50_ms"`
			P90             float64 `json:"p90_ms"`
			P95             float64 `json:"p95_ms"`
			P99             float64 `json:"p99_ms"`
			Min             float64 `json:"min_ms"`
			Max             float64 `json:"max_ms"`
			Throughput      float64 `json:"throughput_per_s"`
		}
	}
	if err := readJSON(path, &results); err != nil {
		return f, err
	}
	if len(results.Runs) != len(f) {
		return f, fmt.Errorf("%s: %d runs, want %d", path, len(results.Runs), len(f))
	}
	for i, r := range results.Runs {
		f[i] = figures{r.Samples, r.Errors, r.Mean, r.P50, r.P90, r.P95, r.P99, r.Min, r.Max, r.Throughput}
	}
	return f, nil
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// same returns an error if theirs are not f, the figures of bench for the same samples.
// Numbers of samples are equal. The other figures differ by what the formats lose: the
// file of samples has whole milliseconds, and a percentile of bench is up to a
// thousandth too high. A percentile may also be that of the sample before or after,
// because JMeter interpolates.
func (f figures) same(theirs figures, all samples) error {
	if f.samples != theirs.samples || f.errors != theirs.errors || f.samples != len(all) || f.samples == 0 {
		return fmt.Errorf("%d samples, %d failed; JMeter's report: %d and %d", f.samples, f.errors, theirs.samples, theirs.errors)
	}
	var elapsed []int
	for _, s := range all {
		elapsed = append(elapsed, s.elapsed)
	}
	slices.Sort(elapsed)
	at := func(rank int) float64 { return float64(elapsed[min(max(rank, 1), len(elapsed))-1]) }
	const rounded = 0.5 // to whole milliseconds
	for _, p := range []struct {
		name         string
		ours, theirs float64
		quantile     float64
	}{
		{"median", f.p50, theirs.p50, 0.50}, {"90%", f.p90, theirs.p90, 0.90},
		{"95%", f.p95, theirs.p95, 0.95}, {"99%", f.p99, theirs.p99, 0.99},
	} {
		rank := int(math.Ceil(p.quantile * float64(len(elapsed))))
		neighbours := at(rank+1) - at(rank-1)
		if math.Abs(p.ours-p.theirs) > rounded+p.ours/1000+neighbours {
			return fmt.Errorf("%s is %g ms; JMeter's report: %g ms", p.name, p.ours, p.theirs)
		}
	}
	for _, v := range []struct {
		name         string
		ours, theirs float64
	}{{"mean", f.mean, theirs.mean}, {"min", f.min, theirs.min}, {"max", f.max, theirs.max}} {
		if math.Abs(v.ours-v.theirs) > rounded {
			return fmt.Errorf("%s is %g ms; JMeter's report: %g ms", v.name, v.ours, v.theirs)
		}
	}
	// The beginning of the first sample and the end of the last are whole milliseconds,
	// and bench's throughput has two decimals.
	const ends, decimals = 0.002, 0.005
	span := float64(f.samples) / f.throughput
	if d := math.Abs(span - float64(f.samples)/theirs.throughput); !(d <= ends+span*decimals/f.throughput) {
		return fmt.Errorf("throughput is %g/s; JMeter's report: %g/s", f.throughput, theirs.throughput)
	}
	return nil
}

// header has the columns of the table, with times in milliseconds.
var header = []string{"", "", "# Samples", "Errors", "Average", "Median", "90% Line", "95% Line", "99% Line", "Min", "Max", "Throughput /s"}

func (f figures) row(setting, source string) []string {
	row := []string{setting, source, strconv.Itoa(f.samples), strconv.Itoa(f.errors)}
	for _, v := range []float64{f.mean, f.p50, f.p90, f.p95, f.p99, f.min, f.max, f.throughput} {
		row = append(row, strconv.FormatFloat(v, 'f', 1, 64))
	}
	return row
}

// writeTable aligns the cells of the rows.
func writeTable(w io.Writer, rows [][]string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for _, cell := range row {
			_, _ = fmt.Fprint(tw, cell, "\t")
		}
		_, _ = fmt.Fprintln(tw)
	}
	_ = tw.Flush()
}
