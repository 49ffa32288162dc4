package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// writeTable writes a line for each holder, and one for each key that has only waiters. The
// waiters follow on lines of their own.
func writeTable(w io.Writer, locks []driver.KeyInfo) error {
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "KEY\tMODE\tHELD\tWAITING\tHOLDER\tOWNER\tTOKEN\tSINCE\tLEFT") // a Builder has no errors
	for i := range locks {
		l := &locks[i]
		for _, h := range holdersOf(l) {
			_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\n",
				printable(l.Key), modeCell(l), l.Held, l.Waiting, cmp.Or(printable(h.Holder), "-"), cmp.Or(h.Owner, "-"),
				known(h.Token > 0, fmt.Sprint(h.Token)), known(!h.Since.IsZero(), h.Since.Local().Format(time.DateTime)),
				known(h.ExpiresIn > 0, h.ExpiresIn.Round(100*time.Millisecond).String()))
		}
	}
	_ = t.Flush()
	// The waiters are no cells: they would make the columns wide.
	lines := strings.SplitAfter(table.String(), "\n")
	out, lines := lines[0], lines[1:]
	for i := range locks {
		n := len(holdersOf(&locks[i]))
		out += strings.Join(lines[:n], "") + queueLines(&locks[i])
		lines = lines[n:]
	}
	_, err := io.WriteString(w, out)
	return err
}

// holdersOf returns the holders that have a line each, or an unknown one.
func holdersOf(l *driver.KeyInfo) []driver.HolderInfo {
	if len(l.Holders) == 0 {
		return make([]driver.HolderInfo, 1)
	}
	return l.Holders
}

// queueWidth is the width of lines with waiters.
const queueWidth = 100

// queueLines returns the lines with the waiters of a key, in their order.
func queueLines(l *driver.KeyInfo) string {
	if len(l.Waiters) == 0 {
		return ""
	}
	const first, next = "  waiting: ", "           "
	var lines strings.Builder
	line := first
	for i := range l.Waiters {
		w := waiterCell(i+1, &l.Waiters[i])
		switch {
		case i+1 < len(l.Waiters):
			w += ","
		case l.Waiting > len(l.Waiters):
			w += fmt.Sprintf(", and %d more", l.Waiting-len(l.Waiters))
		}
		if i > 0 && len(line)+len(w) >= queueWidth {
			lines.WriteString(strings.TrimRight(line, " ") + "\n")
			line = next
		}
		line += w + " "
	}
	return lines.String() + strings.TrimRight(line, " ") + "\n"
}

// waiterCell returns the place of a waiter in the queue, its name, what it asks for, and since
// when.
func waiterCell(place int, w *driver.WaiterInfo) string {
	text := fmt.Sprintf("%d. %s", place, cmp.Or(printable(w.Waiter), w.Owner, "-"))
	switch {
	case w.Permits > 0:
		text += fmt.Sprintf(" (one of %d permits)", w.Permits)
	case w.Mode == driver.Shared:
		text += " (shared)"
	}
	if !w.Since.IsZero() {
		text += " since " + w.Since.Local().Format(time.TimeOnly)
	}
	return text
}

func modeCell(l *driver.KeyInfo) string {
	if l.Foreign != "" {
		return l.ModeName() + ":" + l.Foreign
	}
	return l.ModeName()
}

// known returns text, or - if the store does not know the value.
func known(is bool, text string) string {
	if is {
		return text
	}
	return "-"
}

// printable quotes a key or a name that would break the table or the terminal.
func printable(text string) string {
	if quoted := fmt.Sprintf("%q", text); quoted != `"`+text+`"` || strings.Contains(text, " ") {
		return quoted
	}
	return text
}
