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

// writeTable writes a line for each holder, and one for each key that has only waiters.
func writeTable(w io.Writer, locks []driver.KeyInfo) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "KEY\tMODE\tHELD\tWAITING\tHOLDER\tOWNER\tTOKEN\tSINCE\tLEFT") // Flush returns the error
	for i := range locks {
		l := &locks[i]
		holders := l.Holders
		if len(holders) == 0 {
			holders = []driver.HolderInfo{{}}
		}
		for _, h := range holders {
			_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\n", // the same
				printable(l.Key), modeCell(l), l.Held, l.Waiting, cmp.Or(printable(h.Holder), "-"), cmp.Or(h.Owner, "-"),
				known(h.Token > 0, fmt.Sprint(h.Token)), known(!h.Since.IsZero(), h.Since.Local().Format(time.DateTime)),
				known(h.ExpiresIn > 0, h.ExpiresIn.Round(100*time.Millisecond).String()))
		}
	}
	return t.Flush()
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
