package main

import (
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
	sum := newTotal()
	sum.add(r)
	sum.add(&report{seed: 8, text: strings.ReplaceAll(said, "violation: ", ""), virtual: time.Second})
	const want = `virtual time                1m4s
leases                       530
losses                         2
refused                        6
  clock set back               2
  crash                        2
faults                         4
seeds with violations: 1 of 2, the first is 7, found by map[kept:1]
`
	if got := sum.String(); got != want || sum.first != r {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
