package main

import (
	"fmt"
	"strconv"
	"strings"
)

// metric is a figure of a run, a row of the tables.
type metric struct {
	name   string
	value  func(*jsonRun) (v float64, known bool)
	format func(float64) string
	bad    bool // red unless it is zero
}

func known(value func(*jsonRun) float64) func(*jsonRun) (float64, bool) {
	return func(r *jsonRun) (float64, bool) { return value(r), true }
}

// metrics are the columns of JMeter's dashboard, and the increments.
var metrics = []metric{
	{name: "Samples", value: known(func(r *jsonRun) float64 { return float64(r.Samples) }), format: wholeNumber},
	{name: "Errors", value: known(func(r *jsonRun) float64 { return float64(r.Errors) }), format: wholeNumber, bad: true},
	{name: "Error %", value: known((*jsonRun).errorPercent), format: twoDigits, bad: true},
	{name: "Average, ms", value: known(func(r *jsonRun) float64 { return r.Mean }), format: timeNumber},
	{name: "Min, ms", value: known(func(r *jsonRun) float64 { return r.Min }), format: timeNumber},
	{name: "Max, ms", value: known(func(r *jsonRun) float64 { return r.Max }), format: timeNumber},
	{name: "Median, ms", value: known(func(r *jsonRun) float64 { return r.P50 }), format: timeNumber},
	{name: "90%, ms", value: known(func(r *jsonRun) float64 { return r.P90 }), format: timeNumber},
	{name: "95%, ms", value: known(func(r *jsonRun) float64 { return r.P95 }), format: timeNumber},
	{name: "99%, ms", value: known(func(r *jsonRun) float64 { return r.P99 }), format: timeNumber},
	{name: "Throughput, /s", value: known(func(r *jsonRun) float64 { return r.Throughput }), format: throughput},
	{name: "Increments confirmed", value: known(func(r *jsonRun) float64 { return float64(r.Expected) }), format: wholeNumber},
	{name: "Increments counted", value: counted, format: wholeNumber},
	{name: "Increments lost", value: lost, format: wholeNumber, bad: true},
}

func counted(r *jsonRun) (float64, bool) {
	if r.Counted == nil {
		return 0, false
	}
	return float64(*r.Counted), true
}

func lost(r *jsonRun) (float64, bool) {
	n, ok := r.lost()
	return float64(n), ok
}

func wholeNumber(v float64) string { return group(int64(v)) }
func timeNumber(v float64) string  { return ms(duration(v)) }
func twoDigits(v float64) string   { return strconv.FormatFloat(v, 'f', 2, 64) }

// statistics returns a table with a column for each curve.
func statistics(curves []curve) grid {
	g := grid{Caption: "Statistics", Header: []string{""}}
	for _, c := range curves {
		g.Header = append(g.Header, c.Name)
	}
	for _, m := range metrics {
		row := []cell{{Text: m.name}}
		for _, c := range curves {
			row = append(row, m.cell(c.run))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// differences returns the statistics of two curves, with differences and ratios.
func differences(a, b curve) grid {
	g := statistics([]curve{a, b})
	g.Header = append(g.Header, "Difference", "Ratio")
	for i, m := range metrics {
		va, okA := m.value(a.run)
		vb, okB := m.value(b.run)
		difference, ratio := "–", "–"
		if okA && okB {
			difference = signed(vb-va, m.format)
		}
		if okA && okB && va > 0 && vb >= 0 {
			ratio = fmt.Sprintf("%.2f", vb/va)
		}
		g.Rows[i] = append(g.Rows[i], cell{Text: difference}, cell{Text: ratio})
	}
	return g
}

func (m *metric) cell(r *jsonRun) cell {
	v, ok := m.value(r)
	if !ok {
		return cell{Text: "unknown"}
	}
	return cell{Text: m.format(v), Bad: m.bad && v > 0}
}

// signed formats a difference.
func signed(v float64, format func(float64) string) string {
	switch text := format(max(v, -v)); {
	case !strings.ContainsAny(text, "123456789"):
		return format(0)
	case v < 0:
		return "−" + text
	default:
		return "+" + text
	}
}
