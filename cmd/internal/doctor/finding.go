// Package doctor examines a store: what stands between it and the promises of the locks.
// It changes nothing in the store that it does not remove. See docs/doctor.md.
//
// Each file named after a store reads values and hands them to functions that decide. A
// function that decides has no other input.
package doctor

import (
	"fmt"
	"strings"
)

// Severity says how bad a finding is.
type Severity int

// The severities.
const (
	OK      Severity = iota
	Note             // worth knowing, or not to be seen
	Warning          // a promise depends on something that may not hold
	Fault            // a promise does not hold, or locks do not work
)

// String returns the name of the severity, as in the JSON.
func (s Severity) String() string {
	return [...]string{"ok", "note", "warning", "fault"}[s]
}

// MarshalText implements [encoding.TextMarshaler].
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is the result of one check.
type Finding struct {
	ID       string   `json:"id"`
	Topic    string   `json:"topic"`
	Severity Severity `json:"severity"`
	Seen     string   `json:"seen"`         // the values
	Why      string   `json:"why"`          // it matters, and for which promise
	Do       string   `json:"do,omitempty"` // the command or the setting; empty if there is nothing to do
}

// finding returns a finding of a check in the [Catalogue].
func finding(id string, s Severity, seen, do string) Finding {
	for _, c := range Catalogue {
		if c.ID == id {
			return Finding{ID: id, Topic: c.Topic, Severity: s, Seen: seen, Why: c.Why, Do: do}
		}
	}
	panic("doctor: the catalogue has no check " + id)
}

func ok(id, format string, args ...any) Finding {
	return finding(id, OK, fmt.Sprintf(format, args...), "")
}

func note(id, seen, do string) Finding { return finding(id, Note, seen, do) }

func warning(id, seen, do string) Finding { return finding(id, Warning, seen, do) }

func fault(id, seen, do string) Finding { return finding(id, Fault, seen, do) }

// unseen is the finding of a check if the store does not tell this user the value.
func unseen(id, what string, err error) Finding {
	seen := "cannot see " + what
	if err != nil {
		seen += ": " + oneLine(err)
	}
	return note(id, seen, "look at it as an administrator")
}

// oneLine returns the text of an error on one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// count returns the number with the noun in singular or plural.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
