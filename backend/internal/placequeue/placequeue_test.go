package placequeue_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// place is a place with a number.
type place struct {
	number  int
	sharing driver.Sharing
}

func (p place) Sharing() driver.Sharing { return p.sharing }

func TestBlockersAndHolders(t *testing.T) {
	writer, reader := driver.Sharing{}, driver.Sharing{Mode: driver.Shared}
	permit := func(n int) driver.Sharing { return driver.Sharing{Permits: n} }
	for _, c := range []struct {
		asks     []driver.Sharing
		blockers [][]int // of each place
	}{
		{[]driver.Sharing{writer, writer, writer}, [][]int{{}, {0}, {1}}},
		{[]driver.Sharing{reader, reader, writer, reader, reader}, [][]int{{}, {}, {1}, {2}, {2}}},
		{[]driver.Sharing{permit(2), permit(2), permit(2), permit(2)}, [][]int{{}, {}, {0, 1}, {1, 2}}},
		{[]driver.Sharing{permit(1), permit(3), permit(3), permit(1)}, [][]int{{}, {}, {}, {2}}},
		{[]driver.Sharing{permit(2), reader, permit(2), writer}, [][]int{{}, {0}, {1}, {2}}},
	} {
		var q []place
		for i, s := range c.asks {
			q = append(q, place{i, s})
		}
		var holders []int
		for i, want := range c.blockers {
			if got := numbers(placequeue.Blockers(q, i)); !slices.Equal(got, want) {
				t.Errorf("%v: place %d waits for %v, want %v", c.asks, i, got, want)
			}
			if len(want) == 0 {
				holders = append(holders, i)
			}
		}
		if got := numbers(placequeue.Holders(q)); fmt.Sprint(got) != fmt.Sprint(holders) {
			t.Errorf("%v: %v have the key, want %v", c.asks, got, holders)
		}
	}
}

func numbers(q []place) (all []int) {
	for _, p := range q {
		all = append(all, p.number)
	}
	return all
}
