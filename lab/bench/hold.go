package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// holdRange is the value of -hold: how long a function keeps the lock. If the two ends
// differ, each call draws a time between them.
type holdRange struct{ shortest, longest time.Duration }

// Set parses "2s", or "500ms..3500ms".
func (h *holdRange) Set(s string) error {
	from, to, isRange := strings.Cut(s, "..")
	if !isRange {
		to = from
	}
	var err error
	if h.shortest, err = time.ParseDuration(from); err != nil {
		return fmt.Errorf("want a time such as 2s, or two such as 500ms..3500ms: %w", err)
	}
	if h.longest, err = time.ParseDuration(to); err != nil {
		return fmt.Errorf("want a time after the two dots, such as 500ms..3500ms: %w", err)
	}
	return nil
}

// String returns what Set parses.
func (h *holdRange) String() string {
	if h.shortest == h.longest {
		return h.shortest.String()
	}
	return h.shortest.String() + ".." + h.longest.String()
}

// draw returns a time of the range, in whole microseconds if it is a draw.
func (h *holdRange) draw() time.Duration {
	if h.shortest == h.longest {
		return h.shortest
	}
	return h.shortest + rand.N(h.longest-h.shortest+1).Truncate(time.Microsecond)
}
