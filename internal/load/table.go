package load

import (
	"fmt"
	"strconv"
	"strings"
	"time"
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

// ms formats d in milliseconds with three digits, or more for large values.
func ms(d time.Duration) string {
	var decimals int
	switch {
	case d < time.Millisecond:
		decimals = 3
	case d < 10*time.Millisecond-5*time.Microsecond:
		decimals = 2
	case d < 100*time.Millisecond-50*time.Microsecond:
		decimals = 1
	default:
		return group(d.Round(time.Millisecond).Milliseconds())
	}
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', decimals, 64)
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
