package placequeue

import "context"

// Obstacle is why an owner does not get the key now.
type Obstacle interface {
	// Watch returns a channel with a value when the obstacle may be gone, or with an
	// error if it cannot be watched. It watches until ctx ends.
	Watch(ctx context.Context) <-chan error
	// Ended returns a channel that is closed when the session of the owner's place has
	// ended.
	Ended() <-chan struct{}
	// Remains reports whether the obstacle and the owner's place are still there. It
	// costs less than an attempt.
	Remains(ctx context.Context) bool
	// Err returns why the owner does not have the key. It names the holder if that
	// costs no request, or if thorough is true.
	Err(ctx context.Context, thorough bool) error
}

// wait is what is known of an owner since its last attempt was refused. The table's
// mutex guards it.
type wait struct {
	obstacle Obstacle
	over     bool          // the obstacle may be gone
	err      error         // why it cannot be watched; nil if it can, or if Acquire has said so
	replaced chan struct{} // closed when the next attempt has its result
}
