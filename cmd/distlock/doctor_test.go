package main

import (
	"encoding/json"
	"strings"
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
	if code, silent := exitCode(verdict(doctor.Fault, false)); code != 1 || !silent {
		t.Errorf("the exit code is %d, and silent is %v", code, silent)
	}
}

func TestReportJSON(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	r := &doctor.Report{Store: "redis://h:1/0", Findings: []doctor.Finding{{ID: "role", Topic: "Server", Severity: doctor.Fault, Seen: "a -> b", Why: "w", Do: "d"}}}
	if err := writeReportJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Store, Worst string
		Findings     []map[string]string
	}
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Store != r.Store || got.Worst != "fault" || len(got.Findings) != 1 || got.Findings[0]["severity"] != "fault" || !strings.Contains(b.String(), "a -> b") {
		t.Errorf("got %s", b.String())
	}
}
