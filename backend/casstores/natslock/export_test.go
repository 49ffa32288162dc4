package natslock

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/distlock-go/distlock/backend/caslock"
)

// Escape returns the name of a key in the bucket.
var Escape = escape

// Tickets returns the tickets beside a new bucket.
func Tickets(ctx context.Context, js jetstream.JetStream) (caslock.Tickets, error) {
	s := &store{nc: js.Conn(), js: js, cfg: Config{Bucket: "tickets"}}
	err := s.Check(ctx)
	return s, err
}
