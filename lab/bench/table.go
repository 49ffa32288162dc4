package main

import (
	"fmt"
	"strconv"
	"strings"
)

// tableHeader has the columns of JMeter's Aggregate Report that apply here. Times are
// in milliseconds.
var tableHeader = []string{
	"Label", "# Samples", "Average", "Median", "90% Line", "95% Line", "99% Line", "Min", "Max", "Error %", "Throughput /s",
}

// writeTable writes the aggregate report of the runs, with a TOTAL for more than one
// run, and with the ideal of an election.
func writeTable(b *strings.Builder, runs []*outcome, elected *election) {
	rows := [][]string{tableHeader}
	var all []sample
	for _, o := range runs {
		rows = append(rows, tableRow(o.label, statsOf(o.samples)))
		all = append(all, o.samples...)
	}
	if len(runs) > 1 {
		rows = append(rows, tableRow("TOTAL", statsOf(all)))
	}
	if elected != nil {
		rows = append(rows, tableRow("ideal", statsOf(elected.ideal())))
	}
	align(b, rows)
}

func tableRow(label string, s *stats) []string {
	row := []string{label, group(int64(len(s.times))), ms(s.mean())}
	for _, p := range []float64{50, 90, 95, 99, 0, 100} {
		row = append(row, ms(s.percentile(p)))
	}
	return append(row, strconv.FormatFloat(s.errorPercent(), 'f', 2, 64)+"%", throughput(s.throughput()))
}

// align writes the rows with the first column aligned left and the others right.
func align(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		fmt.Fprintf(b, "%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(b, "  %*s", widths[i+1], cell)
		}
		b.WriteByte('\n')
	}
}
