package main

import (
	"testing"

	"github.com/distlock-go/distlock/cmd/internal/doctor"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	for worst, want := range map[doctor.Severity][2]bool{ // without and with -strict
		doctor.OK: {}, doctor.Note: {}, doctor.Warning: {false, true}, doctor.Fault: {true, true},
	} {
		if got := [2]bool{verdict(worst, false) != nil, verdict(worst, true) != nil}; got != want {
			t.Errorf("%v: %v, want %v", worst, got, want)
		}
	}
}
