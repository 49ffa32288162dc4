package doctor

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Report is what an examination has found.
type Report struct {
	Store    string    `json:"store"` // the URL, without user and password
	Findings []Finding `json:"findings"`
}

// Worst returns the worst severity.
func (r *Report) Worst() Severity {
	worst := OK
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// lineWidth limits the lines of explanations.
const lineWidth = 100

// Write writes the report for people: by topic, the worst first in each.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString(r.Store + "\n")
	width := 0
	var n [Fault + 1]int
	for _, f := range r.Findings {
		n[f.Severity]++
		width = max(width, utf8.RuneCountInString(f.ID))
	}
	sorted := slices.SortedStableFunc(slices.Values(r.Findings), func(a, b Finding) int {
		return cmp.Or(slices.Index(topics, a.Topic)-slices.Index(topics, b.Topic), cmp.Compare(b.Severity, a.Severity))
	})
	topic, indent := "", strings.Repeat(" ", 2+7+2+width+2)
	for _, f := range sorted {
		if f.Topic != topic {
			topic = f.Topic
			b.WriteString("\n" + topic + "\n")
		}
		fmt.Fprintf(&b, "  %-7s  %-*s  %s", f.Severity, width, f.ID, wrap(f.Seen, indent))
		if f.Severity > OK {
			b.WriteString(indent + "why: " + wrap(f.Why, indent+"     ") + indent + "do:  " + f.Do + "\n")
		}
	}
	fmt.Fprintf(&b, "\n%s, %s, %s, %d ok\n", count(n[Fault], "fault"), count(n[Warning], "warning"), count(n[Note], "note"), n[OK])
	_, err := io.WriteString(w, b.String())
	return err
}

// wrap breaks a text into lines. All but the first begin with indent.
func wrap(text, indent string) string {
	var b strings.Builder
	column := len(indent)
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > lineWidth:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	b.WriteByte('\n')
	return b.String()
}
