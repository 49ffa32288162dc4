package testkit

import (
	"context"

	"github.com/distlock-go/distlock"
)

// On has a function for each kind of event that a test wants to be told of. Its method is a
// hook.
type On map[distlock.Kind]func(ctx context.Context, e distlock.Event)

// Event calls the function for the kind of e, if there is one.
func (on On) Event(ctx context.Context, e distlock.Event) {
	if f := on[e.Kind]; f != nil {
		f(ctx, e)
	}
}
