package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// report writes the machine and the tables.
func (b *bench) report(ctx context.Context, w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n%d rounds of %v\n\n", b.servers.machine(ctx), b.cfg.rounds, b.cfg.slice)
	write(&out, goalRows(b.verdicts))
	out.WriteByte('\n')
	write(&out, figureRows(b.figures))
	var noisy []string
	for _, v := range b.verdicts {
		if v.noisy() {
			noisy = append(noisy, v.id)
		}
	}
	if noisy != nil {
		fmt.Fprintf(&out, "\nThe halves differ by more than 10 %%: the machine is too noisy, or the run too short, to judge by %s.\n", strings.Join(noisy, ", "))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// goalRows has a row for each goal.
func goalRows(verdicts []verdict) [][]string {
	rows := [][]string{{"Goal", "What", "Ours", "Theirs", "", "Ratio", "Halves", "Goal", "Met"}}
	for _, v := range verdicts {
		limit := ">= " + ratio(v.atLeast)
		if v.atMost > 0 {
			limit = "<= " + ratio(v.atMost)
		}
		row := []string{v.id, v.what, "", "", v.peer, "", "", limit, v.met()}
		if v.ratio > 0 {
			row[2], row[3], row[5] = quantity(v.ours, v.unit), quantity(v.theirs, v.unit), ratio(v.ratio)
		}
		if len(v.halves) == 2 {
			row[6] = ratio(v.halves[0]) + ", " + ratio(v.halves[1])
		}
		rows = append(rows, row)
	}
	return rows
}

// figureRows has a row for each peer in each scenario.
func figureRows(figures []*figure) [][]string {
	rows := [][]string{{"Scenario", "Peer", "Locks/s", "Client CPU", "Server CPU", "Notes"}}
	for _, f := range figures {
		row := []string{f.scenario.id, f.peer, count(f.median(rate)), "", "", strings.Join(f.problems, "; ")}
		for i, m := range []metric{clientPerLock, serverPerLock} {
			if used := f.median(m); used > 0 {
				row[3+i] = quantity(used, micros)
			}
		}
		if f.stopped {
			row[5] = strings.TrimSuffix("did not finish: "+row[5], ": ")
		}
		rows = append(rows, row)
	}
	return rows
}

// write writes the rows in columns.
func write(w io.Writer, rows [][]string) {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(columns, strings.Join(row, "\t"))
	}
	_ = columns.Flush()
}

// quantity formats a value with its unit.
func quantity(x float64, unit string) string {
	if unit == perSecond {
		return count(x) + unit
	}
	return ratio(x) + " " + unit
}

// count formats x without a fraction, with commas between thousands.
func count(x float64) string { return message.NewPrinter(language.English).Sprintf("%.0f", x) }

// ratio formats x with three digits, or more if it is large.
func ratio(x float64) string {
	switch {
	case x < 10:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case x < 100:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return count(x)
	}
}
