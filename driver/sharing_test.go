package driver_test

import (
	"slices"
	"testing"

	"github.com/distlock-go/distlock/driver"
)

var (
	exclusive = driver.Sharing{Mode: driver.Exclusive}
	shared    = driver.Sharing{Mode: driver.Shared}
	permit1   = driver.Sharing{Permits: 1}
	permit2   = driver.Sharing{Permits: 2}
	permit3   = driver.Sharing{Permits: 3}
	all       = []driver.Sharing{exclusive, shared, permit1, permit2, permit3}
)

func TestAdmits(t *testing.T) {
	for _, c := range []struct {
		has  driver.Sharing
		n    int
		asks []driver.Sharing // that are admitted; the others are not
	}{
		{exclusive, 0, all},
		{shared, 0, all},
		{permit1, 0, all},
		{exclusive, 1, nil},
		{shared, 1, []driver.Sharing{shared}},
		{shared, 1000, []driver.Sharing{shared}},
		{permit1, 1, []driver.Sharing{permit2, permit3}},
		{permit2, 1, []driver.Sharing{permit2, permit3}},
		{permit2, 2, []driver.Sharing{permit3}},
		{permit3, 1, []driver.Sharing{permit2, permit3}},
		{permit3, 2, []driver.Sharing{permit3}},
		{permit3, 3, nil},
	} {
		for _, asks := range all {
			if got, want := c.has.Admits(c.n, asks), slices.Contains(c.asks, asks); got != want {
				t.Errorf("%d holders with %+v, %+v asked for: Admits = %v", c.n, c.has, asks, got)
			}
		}
	}
}
