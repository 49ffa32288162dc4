package main

import (
	"math"
	"slices"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/distlock-go/distlock/cmd/backendurl"
)

// english prints numbers with commas between thousands.
var english = message.NewPrinter(language.English)

// columns are those of JMeter's Aggregate Report that apply here. Times are in milliseconds.
var columns = []any{
	"Label", "# Samples", "Average", "Median", "90% Line", "95% Line", "99% Line", "Min", "Max", "Error %", "Throughput /s",
}

const columnWidths = "%-12v%11v%9v%8v%10v%10v%10v%7v%7v%9v%15v\n"

// report returns the settings that affect the result, the table with a TOTAL for more than one
// run, and the counters.
func (c *config) report(runs []*load) string {
	if len(runs) == 0 {
		return ""
	}
	backend := c.backend
	if backend != embedded {
		backend = backendurl.Name(backend)
	}
	text := english.Sprintf("wrap: %d users x %d loops, ramp-up %v, think %v, hold %v, keys %d, backend %s\n\n",
		c.users, c.loops, c.rampUp, c.think, c.hold, c.keys, backend) + english.Sprintf(columnWidths, columns...)
	var all []sample
	for _, l := range runs {
		text += row(l.label, l.samples)
		all = append(all, l.samples...)
	}
	if len(runs) > 1 {
		text += row("TOTAL", all)
	}
	text += "\n"
	for _, l := range runs {
		text += l.counters() + "\n"
	}
	return text
}

// row returns a line of the table. A percentile is the shortest time that so many of the
// samples did not exceed. The throughput is from the beginning of the first sample to the end
// of the last, as in JMeter: with ramp-up and think time.
func row(label string, samples []sample) string {
	var times []time.Duration
	var sum time.Duration
	var errors float64
	var first, last time.Time
	for _, s := range samples {
		times = append(times, s.elapsed)
		sum += s.elapsed
		if s.err != nil {
			errors++
		}
		if first.IsZero() || s.start.Before(first) {
			first = s.start
		}
		if end := s.start.Add(s.elapsed); end.After(last) {
			last = end
		}
	}
	slices.Sort(times)
	n := float64(len(times))
	cells := []any{label, english.Sprint(len(times)), ms(sum / time.Duration(max(len(times), 1)))}
	for _, percent := range []float64{50, 90, 95, 99, 0, 100} {
		var d time.Duration
		if len(times) > 0 {
			d = times[max(int(math.Ceil(percent/100*n)), 1)-1]
		}
		cells = append(cells, ms(d))
	}
	return english.Sprintf(columnWidths, append(cells, english.Sprintf("%.2f%%", 100*errors/max(n, 1)), english.Sprintf("%.0f", n/max(last.Sub(first).Seconds(), 1e-9)))...)
}

// ms formats d in milliseconds, with three digits or more.
func ms(d time.Duration) string {
	x, decimals := d.Seconds()*1000, 3
	for limit := 1.0; x >= limit && decimals > 0; limit *= 10 {
		decimals--
	}
	return english.Sprintf("%.*f", decimals, x)
}

// counters returns a line about the counters. They have more increments than were confirmed
// if the lock was lost behind one, or an interrupt came between.
func (l *load) counters() string {
	text := english.Sprintf("%s: %d of %d increments", l.label, l.counted, l.confirmed())
	switch lost := l.confirmed() - l.counted; {
	case lost > 0:
		text += english.Sprintf(", %d lost", lost)
	case lost < 0:
		text += english.Sprintf(", %d more than were confirmed", -lost)
	}
	if failed, first := l.failed(); failed > 0 {
		text += english.Sprintf("; %d of %d samples failed, the first with: %v", failed, len(l.samples), first)
	}
	return text
}
