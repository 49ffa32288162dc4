package etcdlock

import (
	"time"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// heldError returns the error that names the holder of the key, the owner of the first
// place. Only the holder's process knows when it got the key and when its lease ends.
func (b *Backend) heldError(q queue) *driver.HeldError {
	held := &driver.HeldError{}
	if len(q) == 0 {
		return held
	}
	held.Holder = driver.HolderOf(q[0].owner)
	if l, ok := b.table.HeldAt(q[0].path); ok {
		held.Held, held.RetryAfter = time.Since(l.Since), max(time.Until(placequeue.End(l.Grant)), 0)
	}
	return held
}
