package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

func TestEditsFitThisVersionOfGo(t *testing.T) {
	t.Parallel()
	if _, err := edited(); err != nil {
		t.Error(err)
	}
}

func TestScriptsPerSecond(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ leases, want float64 }{
		{1, 1 / 9.5},                   // a script for each renewal
		{2000, 6.4},                    // one for each point of the grid
		{100_000, 100_000 / 9.5 / 256}, // full scripts
	} {
		if got := scriptsPerSecond(c.leases, 30); math.Abs(got-c.want) > c.want/100 {
			t.Errorf("%v leases of 30 s: %v scripts a second, want %v", c.leases, got, c.want)
		}
	}
}

// said is a report as TestSimulate prints it.
const said = `seed 7, 3 processes, 1m2.5s of virtual time
     100ms  crash                1  for 3.943s
    1.279s  cut after request    0.1:107  for 104ms
    1.403s  clock set back       0  for 0s
operations: acquire ok 265, read failed 1, write failed 2, write ok 390
leases: handed over 6, told of a loss 1
faults: clock set back 1, crash 1
violations: 2 kept 1, model 1
violation: kept: process 2.0 worker 3 key 3 token 5 was granted before it was time
violation: model: key 3, piece 1: no legal order
`

func TestReportsAreAddedUp(t *testing.T) {
	t.Parallel()
	r := &report{seed: 7, text: said, virtual: 62500 * time.Millisecond, checks: []string{"kept", "model"}}
	if got := strings.Join(r.faults(), ", "); !strings.HasSuffix(got, ", 0.1:107, 1.403s clock set back") {
		t.Errorf("faults to leave out: %s", got)
	}
	var out bytes.Buffer
	table := newTable(printer{&out}, true)
	table.add(r, nil)
	table.add(&report{seed: 8, text: strings.ReplaceAll(said, "violation: ", ""), virtual: time.Second}, nil)
	table.end(2, false, time.Second)
	want := sum{seeds: 0}
	if table.row != want || table.violated != 1 || table.first != r || table.faults["crash"] != 2 {
		t.Errorf("%+v", table)
	}
	if !strings.Contains(out.String(), "\nall                 1m4s       4      530       2        6          2\n") {
		t.Errorf("printed:\n%s", out.String())
	}
}
