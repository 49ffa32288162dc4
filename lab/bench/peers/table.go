package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// report writes the tables and the requested files.
func (b *bench) report(ctx context.Context, w io.Writer) error {
	m := b.machine(ctx)
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n%d rounds of %v\n\n", m, b.cfg.rounds, b.cfg.slice)
	goalTable(&out, b.verdicts)
	out.WriteByte('\n')
	figureTable(&out, b.figures)
	if _, err := io.WriteString(w, out.String()); err != nil {
		return err
	}
	if b.cfg.json != "" {
		if err := b.writeJSON(b.cfg.json, m); err != nil {
			return err
		}
	}
	if b.cfg.svg != "" {
		return b.writeSVG(b.cfg.svg)
	}
	return nil
}

// goalTable has a row for each goal.
func goalTable(b *strings.Builder, verdicts []verdict) {
	rows := [][]string{{"Scenario", "What", "Ours", "Best peer", "", "Ratio", "Goal", "Met"}}
	for _, v := range verdicts {
		met := "no"
		if v.Met {
			met = "yes"
		}
		goal := v.Direction + " " + ratio(v.Goal)
		if v.Direction == "" {
			goal, met = "", ""
		}
		rows = append(rows, []string{
			v.ID, v.What, quantity(v.Ours, v.Unit), bestText(v), v.BestName, ratio(v.Ratio), goal, met,
		})
	}
	align(b, rows, "llrrlrrl")
}

func bestText(v verdict) string {
	if v.BestName == "" {
		return ""
	}
	return quantity(v.Best, v.Unit)
}

// figureTable has a row for each peer in each scenario.
func figureTable(b *strings.Builder, figures []*figure) {
	rows := [][]string{{"Scenario", "Peer", "Locks/s", "p50", "p99", "Max", "Notes"}}
	for _, f := range figures {
		w := f.waits()
		row := []string{f.scenario.id, f.peer, count(f.rate()), "", "", "", strings.Join(notes(f), ", ")}
		if w.N > 0 {
			row[3], row[4], row[5] = span(w.quantile(0.5)), span(w.quantile(0.99)), span(w.Max)
		}
		rows = append(rows, row)
	}
	align(b, rows, "llrrrrl")
}

// notes returns further remarks about a figure.
func notes(f *figure) (n []string) {
	add := func(format string, args ...any) { n = append(n, fmt.Sprintf(format, args...)) }
	s := f.scenario.shape
	_, probe := probes[f.peer]
	if !f.finished() {
		last := f.slices[len(f.slices)-1]
		add("did not finish in %v", last.elapsed.Round(100*time.Millisecond))
	}
	if !probe && s.grow && f.median(mean) > 0 {
		add("longest/mean %s", ratio(f.median(patience)))
	}
	if s.order && f.peer == ours {
		add("overtaken by %s", count(f.worst(overtaking)))
	}
	if !probe && s.grow && s.procs > 1 {
		add("shares 1:%s", ratio(f.worst(imbalance)))
	}
	if h := f.handOver(); h > 0 && s.hold == 0 {
		add("hand-over %s", span(h))
	}
	if s.hold > 0 {
		add("held %s of the time", quantity(100*f.median(utilisation), percent))
	}
	if s.newKeys {
		add("%s keys left", count(f.median(keysLeft)))
		add("%s left per lock", quantity(f.median(memoryLeft), bytesUnit))
		add("%s to a replica per lock", quantity(f.median(streamPerLock), bytesUnit))
	}
	if s.ownKeys && !s.newKeys && f.median(cpuPerLock) > 0 {
		add("server CPU %s per lock", quantity(f.median(cpuPerLock), micros))
	}
	if s.commands {
		add("%s commands per lock", ratio(f.median(commandsPerLock)))
	}
	if v := f.violations(); v > 0 {
		add("VIOLATED %s times", count(float64(v)))
	}
	if p := f.problems(); p != "" {
		add("%s", p)
	}
	return n
}

// align writes the rows in columns, aligned left or right as the letters in columns
// say.
func align(b *strings.Builder, rows [][]string, columns string) {
	widths := make([]int, len(columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if columns[i] == 'r' {
				cell = fill + cell
			} else {
				cell += fill
			}
			line += cell + "  "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// quantity formats a value with its unit.
func quantity(x float64, unit string) string {
	switch unit {
	case perSecond:
		return count(x) + unit
	case percent:
		return strconv.FormatFloat(x, 'f', 1, 64) + unit
	case micros, millis, bytesUnit:
		return ratio(x) + " " + unit
	default:
		return ratio(x)
	}
}

// count formats x without a fraction, with commas between thousands.
func count(x float64) string {
	s := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// ratio formats x with three digits, or more if it is large.
func ratio(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x < 10:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case x < 100:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return count(x)
	}
}

// span formats a duration in a suitable unit.
func span(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return ratio(inMicros(d)) + " us"
	case d < time.Second:
		return ratio(float64(d)/1e6) + " ms"
	default:
		return ratio(d.Seconds()) + " s"
	}
}

func inMicros(d time.Duration) float64 { return float64(d) / 1e3 }
