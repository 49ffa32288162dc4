package sqllock

import "context"

// channel is what waiters listen to. Tables may share it: a message for a waiter of
// another table wakes no one.
const channel = "distlock"

// Listener receives the messages that PostgreSQL sends with NOTIFY, so that a waiter
// learns of a release without asking for it again and again. The package pglisten has
// one.
type Listener interface {
	// Listen opens a connection of its own and listens to the channel. It calls
	// listening as soon as no later message is missed, and heard with the payload of
	// each message. It returns when ctx ends or the connection fails, always with an
	// error, and calls neither function after that.
	Listen(ctx context.Context, channel string, listening func(), heard func(payload string)) error
}
