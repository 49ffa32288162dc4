// Package doctor examines a store: what stands between it and the promises of the locks.
// See docs/doctor.md.
//
// Each store has a table of checks. A check reads a value and judges it.
package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/distlock-go/distlock/internal/text"
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

// The topics, in the order of the report.
const (
	server     = "Server"
	durability = "What a crash or a failover loses"
	access     = "Access"
	timing     = "Time"
)

var topics = []string{server, durability, access, timing}

// check is a row in the table of a store.
type check[S any] struct {
	id, topic string
	why       string // it matters. P1 to P8 are the promises in docs/reliability.md
	judge     func(context.Context, S) (verdict, error)
}

// verdict is what a check has found. The zero verdict means that it does not apply.
type verdict struct {
	severity Severity
	seen, do string
}

func ok(format string, args ...any) verdict { return verdict{OK, fmt.Sprintf(format, args...), ""} }

func note(seen, do string) verdict { return verdict{Note, seen, do} }

func warning(seen, do string) verdict { return verdict{Warning, seen, do} }

func fault(seen, do string) verdict { return verdict{Fault, seen, do} }

// run returns the findings of a table. A check that gets an error becomes a note: the store
// does not tell this user the value.
func run[S any](ctx context.Context, store S, table []check[S]) []Finding {
	var findings []Finding
	for _, c := range table {
		v, err := c.judge(ctx, store)
		if err != nil {
			v = note("cannot see it: "+text.OneLine(err), "look at it as an administrator")
		}
		if v != (verdict{}) {
			findings = append(findings, Finding{c.id, c.topic, v.severity, v.seen, c.why, v.do})
		}
	}
	return findings
}

// count returns the number with the noun in singular or plural.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// atLeast returns what judges a version.
func atLeast(name string, major, minor int) func(string) verdict {
	return func(version string) verdict {
		if before(version, major, minor) {
			return fault(name+" "+version, fmt.Sprintf("use %s %d.%d or later", name, major, minor))
		}
		return ok("%s %s", name, version)
	}
}

// before reports whether a version is before another one. What is no version is.
func before(version string, major, minor int) bool {
	var has, hasMinor int
	number := strings.TrimLeftFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	n, _ := fmt.Sscanf(number, "%d.%d", &has, &hasMinor)
	return n == 0 || has < major || has == major && hasMinor < minor
}
