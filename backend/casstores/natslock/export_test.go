package natslock

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/distlock-go/distlock/backend/caslock"
)

var (
	Escape  = escape  // returns the name of a key in the bucket
	Changed = changed // reports whether an error is about the condition of a write
)

// Store returns the store of a new bucket.
func Store(ctx context.Context, js jetstream.JetStream) (interface {
	caslock.Store
	caslock.Tickets
}, error) {
	s := &store{nc: js.Conn(), js: js, cfg: Config{Bucket: "tickets"}}
	err := s.Check(ctx)
	return s, err
}
