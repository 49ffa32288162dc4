package request

import (
	"fmt"
	"sync/atomic"

	"github.com/distlock-go/distlock"
)

// MaxBodies is how many bytes the bodies have together that wait for the locks of one
// middleware. A single body may have more.
const MaxBodies = 64 << 20

// Bodies counts the bytes of the bodies that wait. The zero value has none.
type Bodies struct{ n atomic.Int64 }

// Body is one that waits. It is used by one goroutine.
type Body struct {
	all *Bodies
	n   int64
}

// New returns a body without bytes.
func (b *Bodies) New() *Body { return &Body{all: b} }

// Add adds n bytes to the body. If the other bodies have too many, the error wraps
// [distlock.ErrQueueFull].
func (b *Body) Add(n int) error {
	b.n += int64(n)
	if others := b.all.n.Add(int64(n)) - b.n; others > MaxBodies {
		return fmt.Errorf("%w: the bodies that wait have %d MB", distlock.ErrQueueFull, others>>20)
	}
	return nil
}

// Done is called when the body does not wait any more.
func (b *Body) Done() {
	b.all.n.Add(-b.n)
	b.n = 0
}
