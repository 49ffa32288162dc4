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

// Summary returns how many findings there are of each severity.
func (r *Report) Summary() string {
	var n [Fault + 1]int
	for _, f := range r.Findings {
		n[f.Severity]++
	}
	return fmt.Sprintf("%s, %s, %s, %d ok", count(n[Fault], "fault"), count(n[Warning], "warning"), count(n[Note], "note"), n[OK])
}

// lineWidth limits the lines of explanations.
const lineWidth = 100

// Write writes the report for people: by topic, the worst first in each.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString(r.Store + "\n")
	width := 0
	for _, f := range r.Findings {
		width = max(width, utf8.RuneCountInString(f.ID))
	}
	for _, topic := range topics {
		var of []Finding
		for _, f := range r.Findings {
			if f.Topic == topic {
				of = append(of, f)
			}
		}
		if len(of) == 0 {
			continue
		}
		slices.SortStableFunc(of, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
		b.WriteString("\n" + topic + "\n")
		for _, f := range of {
			fmt.Fprintf(&b, "  %-7s  %-*s  ", f.Severity, width, f.ID)
			indent := strings.Repeat(" ", 2+7+2+width+2)
			b.WriteString(wrap(f.Seen, indent))
			if f.Severity > OK {
				b.WriteString(indent + "why: " + wrap(f.Why, indent+"     "))
				if f.Do != "" {
					b.WriteString(indent + "do:  " + f.Do + "\n")
				}
			}
		}
	}
	b.WriteString("\n" + r.Summary() + "\n")
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
