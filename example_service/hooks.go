package main

import (
	"context"
	"log/slog"

	"github.com/distlock-go/distlock"
)

// logHooks returns hooks that log: a lost lock as a warning, everything else on the
// debug level. The monitor logs an outage of the store once, instead of each request
// that it affects. The hooks are an example to copy. Name is suitable as the label of a
// metric; Key is not, because callers choose keys.
func logHooks(log *slog.Logger) distlock.Hooks {
	return distlock.Hooks{
		Start: func(ctx context.Context, i distlock.StartInfo) context.Context {
			log.DebugContext(ctx, "lock wanted", "name", i.Name, "key", i.Key)
			return ctx // a tracer would add its span here
		},
		Acquired: func(ctx context.Context, i distlock.AcquiredInfo) {
			log.DebugContext(ctx, "lock acquired", "name", i.Name, "key", i.Key, "token", i.Token,
				"wait", i.Wait, "reentrant", i.Reentrant)
		},
		Failed: func(ctx context.Context, i distlock.FailedInfo) {
			log.DebugContext(ctx, "lock not acquired", "name", i.Name, "key", i.Key, "wait", i.Wait, "err", i.Err)
		},
		Renewed: func(ctx context.Context, i distlock.RenewedInfo) {
			log.DebugContext(ctx, "lock renewed", "name", i.Name, "key", i.Key, "token", i.Token,
				"held", i.Held, "left", i.Left, "err", i.Err)
		},
		Lost: func(ctx context.Context, i distlock.LostInfo) {
			log.WarnContext(ctx, "lock lost", "name", i.Name, "key", i.Key, "token", i.Token, "held", i.Held, "err", i.Err)
		},
		Released: func(ctx context.Context, i distlock.ReleasedInfo) {
			log.DebugContext(ctx, "lock released", "name", i.Name, "key", i.Key, "token", i.Token,
				"held", i.Held, "reentrant", i.Reentrant, "err", i.Err)
		},
	}
}
