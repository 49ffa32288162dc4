package driver

import "context"

// Revoker is an ability of a [Backend] that can ask holders to give a key back.
// Nothing is taken away: a holder that does not listen keeps the key.
type Revoker interface {
	// Revoke asks all holders of the key to give it back. It returns whether the key is
	// held. A store without a memory for this may lose the message: the caller repeats
	// it, or takes the key away with [Inspector].ForceRelease.
	Revoke(ctx context.Context, key string) (held bool, err error)

	// Revoked returns a channel that is closed when the owner of g is asked to give the
	// key back, for as long as ctx lasts. It returns when no request is missed any more, and
	// in any case after the time of one operation. An owner that was asked before may be
	// told at once.
	Revoked(ctx context.Context, g Grant) <-chan struct{}
}
