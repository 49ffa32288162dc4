package fence

import (
	"context"

	"github.com/distlock-go/distlock/internal/bridge"
)

// FromContext returns the ticket of a full key under which the caller runs: its own lease, or
// the ticket that came with the call. It returns nil and false if there is none, or if others
// may share the lock: then tokens have no order. It does not look at other keys, because the
// lock of another resource protects nothing here.
func FromContext(ctx context.Context, key string) (Ticket, bool) {
	t := held(ctx).Find(key)
	return t, t != nil
}

func held(ctx context.Context) (all bridge.Tickets) {
	if bridge.Leases != nil {
		all = bridge.Leases(ctx)
	}
	return all.With(bridge.CarriedBy(ctx))
}
