package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// tableHeader has the columns of JMeter's Aggregate Report that apply here. Times are
// in milliseconds.
var tableHeader = []string{
	"Label", "# Samples", "Average", "Median", "90% Line", "95% Line", "99% Line", "Min", "Max", "Error %", "Throughput /s",
}

// writeTable writes the aggregate report of the runs, with a TOTAL for more than one
// run.
func writeTable(b *strings.Builder, runs []*outcome) {
	rows := [][]string{tableHeader}
	total := newTally()
	for _, o := range runs {
		rows = append(rows, tableRow(o.label, o.tally))
		total.merge(o.tally)
	}
	if len(runs) > 1 {
		rows = append(rows, tableRow("TOTAL", total))
	}
	align(b, rows)
}

func tableRow(label string, t *tally) []string {
	row := []string{label, group(t.samples), ms(t.mean())}
	for _, p := range []float64{50, 90, 95, 99} {
		row = append(row, ms(t.percentile(p)))
	}
	return append(row, ms(t.min), ms(t.max),
		strconv.FormatFloat(t.errorPercent(), 'f', 2, 64)+"%", throughput(t.throughput()))
}

// align writes the rows with the first column aligned left and the others right.
func align(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			if i == 0 {
				fmt.Fprintf(b, "%-*s", widths[i], cell)
			} else {
				fmt.Fprintf(b, "  %*s", widths[i], cell)
			}
		}
		b.WriteByte('\n')
	}
}

// ms formats d in milliseconds with three digits, the precision of the histogram, or
// more for large values.
func ms(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond-5*time.Microsecond:
		decimals := 2
		if d < time.Millisecond {
			decimals = 3
		}
		return strconv.FormatFloat(millis(d), 'f', decimals, 64)
	case d < 100*time.Millisecond-50*time.Microsecond:
		return strconv.FormatFloat(millis(d), 'f', 1, 64)
	default:
		return group(int64(d.Round(time.Millisecond) / time.Millisecond))
	}
}

func throughput(perSecond float64) string {
	if perSecond < 1000 {
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return group(int64(perSecond + 0.5))
}

// group formats n with commas between thousands.
func group(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
