package zklock

import (
	"slices"
	"time"
)

// expiries is a heap of the held tickets by the end of their leases.
type expiries []*ticket

func (e expiries) at(i int) time.Time { return e[i].grant.Sent.Add(e[i].grant.TTL) }

// Len is for container/heap.
func (e expiries) Len() int { return len(e) }

// Less is for container/heap.
func (e expiries) Less(i, j int) bool { return e.at(i).Before(e.at(j)) }

// Swap is for container/heap.
func (e expiries) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	e[i].index, e[j].index = i, j
}

// Push is for container/heap.
func (e *expiries) Push(x any) {
	tk := x.(*ticket)
	tk.index = len(*e)
	*e = append(*e, tk)
}

// Pop is for container/heap.
func (e *expiries) Pop() any {
	last := len(*e) - 1
	tk := (*e)[last]
	*e = slices.Delete(*e, last, last+1)
	return tk
}
