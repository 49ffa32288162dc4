package distlock

import (
	"context"

	"github.com/distlock-go/distlock/driver"
)

// keyWatch is what one acquisition watches while it waits. The zero value watches nothing.
type keyWatch struct {
	changed <-chan struct{} // receives a value when it is time for an attempt
	cancel  context.CancelFunc
}

// begin watches the key, unless it is watched already or the backend has no waker.
func (k *keyWatch) begin(ctx context.Context, w driver.Waker, key string) {
	if w == nil || k.cancel != nil {
		return
	}
	ctx, k.cancel = context.WithCancel(ctx)
	k.changed = w.Wake(ctx, key)
}

func (k *keyWatch) end() {
	if k.cancel != nil {
		k.cancel()
	}
}
