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

// column is a column of a table of locks.
type column struct {
	title string
	cell  func(l *driver.KeyInfo, h *driver.HolderInfo) string // "": unknown
}

var (
	keyColumn     = column{"KEY", func(l *driver.KeyInfo, _ *driver.HolderInfo) string { return printable(l.Key) }}
	modeColumn    = column{"MODE", func(l *driver.KeyInfo, _ *driver.HolderInfo) string { return modeCell(l) }}
	heldColumn    = column{"HELD", func(l *driver.KeyInfo, _ *driver.HolderInfo) string { return fmt.Sprint(l.Held) }}
	waitingColumn = column{"WAITING", func(l *driver.KeyInfo, _ *driver.HolderInfo) string { return fmt.Sprint(l.Waiting) }}
	holderColumn  = column{"HOLDER", func(_ *driver.KeyInfo, h *driver.HolderInfo) string { return printable(h.Holder) }}
	ownerColumn   = column{"OWNER", func(_ *driver.KeyInfo, h *driver.HolderInfo) string { return h.Owner }}
	tokenColumn   = column{"TOKEN", func(_ *driver.KeyInfo, h *driver.HolderInfo) string { return tokenCell(h.Token) }}
	sinceColumn   = column{"SINCE", func(_ *driver.KeyInfo, h *driver.HolderInfo) string { return sinceCell(h.Since) }}
	leftColumn    = column{"LEFT", func(_ *driver.KeyInfo, h *driver.HolderInfo) string { return leftCell(h.ExpiresIn) }}
)

// writeTable writes a line for each holder, and one for each key that has only waiters.
func writeTable(w io.Writer, columns []column, locks []driver.KeyInfo) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.title
	}
	_, _ = fmt.Fprintln(t, strings.Join(cells, "\t")) // Flush returns the error
	for i := range locks {
		l := &locks[i]
		holders := l.Holders
		if len(holders) == 0 {
			holders = []driver.HolderInfo{{}}
		}
		for j := range holders {
			for i, c := range columns {
				cells[i] = cmp.Or(c.cell(l, &holders[j]), "-")
			}
			_, _ = fmt.Fprintln(t, strings.Join(cells, "\t")) // the same
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
		return ""
	}
	return fmt.Sprint(token)
}

func sinceCell(since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return since.Local().Format(time.DateTime)
}

func leftCell(left time.Duration) string {
	if left <= 0 {
		return ""
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
