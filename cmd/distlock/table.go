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
				tokenCell(h.Token), sinceCell(h.Since), leftCell(h.ExpiresIn))
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

func tokenCell(token uint64) string {
	if token == 0 {
		return "-"
	}
	return fmt.Sprint(token)
}

func sinceCell(since time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return since.Local().Format(time.DateTime)
}

func leftCell(left time.Duration) string {
	if left <= 0 {
		return "-"
	}
	return left.Round(100 * time.Millisecond).String()
}

// printable quotes a key or a name that would break the table or the terminal.
func printable(text string) string {
	if quoted := fmt.Sprintf("%q", text); quoted != `"`+text+`"` || strings.Contains(text, " ") {
		return quoted
	}
	return text
}
