package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// writeTable writes a line for each holder, and one for each key that has only waiters. A line
// for each waiter follows.
func writeTable(w io.Writer, locks []driver.KeyInfo) error {
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	// A Builder has no errors.
	_, _ = fmt.Fprintln(t, "KEY\tMODE\tHELD\tWAITING IN STORE\tHOLDER\tOWNER\tTOKEN\tSINCE\tLEFT")
	below := make(map[int]string) // the waiters below a line: as cells they would make the columns wide
	n := 0
	for i := range locks {
		l := &locks[i]
		holders := l.Holders
		if len(holders) == 0 {
			holders = make([]driver.HolderInfo, 1)
		}
		for _, h := range holders {
			_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\n",
				printable(l.Key), strings.TrimSuffix(l.ModeName()+":"+l.Foreign, ":"), l.Held, l.Waiting, cmp.Or(printable(h.Holder), "-"), cmp.Or(h.Owner, "-"),
				known(h.Token > 0, tokens(h)), known(!h.Since.IsZero(), h.Since.Local().Format(time.DateTime)),
				known(h.ExpiresIn > 0, h.ExpiresIn.Round(100*time.Millisecond).String()))
			n++
		}
		below[n] = waiterLines(l)
	}
	_ = t.Flush()
	for i, line := range strings.SplitAfter(table.String(), "\n") {
		if _, err := io.WriteString(w, line+below[i]); err != nil {
			return err
		}
	}
	return nil
}

// waiterLines returns a line for each waiter that is listed, in their order.
func waiterLines(l *driver.KeyInfo) string {
	var lines strings.Builder
	for i, w := range l.Waiters {
		_, _ = fmt.Fprintf(&lines, "  waiter %d: %s", i+1, cmp.Or(printable(w.Waiter), w.Owner, "-"))
		switch {
		case w.Permits > 0:
			_, _ = fmt.Fprintf(&lines, " (one of %d permits)", w.Permits)
		case w.Mode == driver.Shared:
			lines.WriteString(" (shared)")
		}
		if !w.Since.IsZero() {
			lines.WriteString(" since " + w.Since.Local().Format(time.TimeOnly))
		}
		lines.WriteByte('\n')
	}
	if more := l.Waiting - len(l.Waiters); more > 0 && len(l.Waiters) > 0 {
		_, _ = fmt.Fprintf(&lines, "  and %d more\n", more)
	}
	return lines.String()
}

// tokens returns the range of tokens. Of the last one it has the digits that differ.
func tokens(h driver.HolderInfo) string {
	first, last := strconv.FormatUint(h.Token, 10), strconv.FormatUint(h.LastToken, 10)
	if h.LastToken <= h.Token {
		return first
	}
	same := 0
	for len(first) == len(last) && first[same] == last[same] {
		same++
	}
	return first + "…" + last[same:]
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
