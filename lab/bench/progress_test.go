package main

import (
	"strings"
	"testing"
)

func TestProgressBar(t *testing.T) {
	t.Parallel()
	p := newProgress(&strings.Builder{}, "wrap lock", 2000) // not a terminal: it only counts
	for i := range 1500 {
		p.add(i >= 3)
	}
	var terminal strings.Builder
	p.show(newBar(&terminal, 2000))
	p.close()
	for _, part := range []string{"wrap lock, errors 3", "75%", "(1500/2000", "it/s"} {
		wantContains(t, terminal.String(), part)
	}
}
