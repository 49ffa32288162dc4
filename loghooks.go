package distlock

import (
	"context"
	"errors"
	"log/slog"
)

// LogHooks returns hooks that log as warnings lost leases, failed renewals, and what only a
// change of the program helps: refused options, a refused key of [Locker.Do], and others. A
// refused key of parameters is the fault of a request. It and everything else are logged on
// the debug level. LogHooks panics if log is nil.
func LogHooks(log *slog.Logger) Hooks {
	if log == nil {
		panic("distlock: LogHooks: nil Logger")
	}
	line := func(ctx context.Context, level slog.Level, msg string, i *LockInfo, attrs ...slog.Attr) {
		if log.Enabled(ctx, level) {
			log.LogAttrs(ctx, level, msg, append([]slog.Attr{slog.String("name", i.Name), slog.String("key", i.Key)}, attrs...)...)
		}
	}
	return Hooks{
		Start: func(ctx context.Context, i LockInfo) context.Context {
			line(ctx, slog.LevelDebug, "lock wanted", &i)
			return ctx
		},
		Acquired: func(ctx context.Context, i AcquiredInfo) {
			line(ctx, slog.LevelDebug, "lock acquired", &i.LockInfo, slog.Uint64("token", i.Token), slog.Duration("wait", i.Wait),
				slog.Bool("reentrant", i.Reentrant), slog.Bool("handed_over", i.HandedOver))
		},
		Failed: func(ctx context.Context, i FailedInfo) {
			level := slog.LevelDebug
			if CodeOf(i.Err).isFault() && (i.Key != "" || !errors.Is(i.Err, ErrKey)) {
				level = slog.LevelWarn
			}
			line(ctx, level, "lock not acquired", &i.LockInfo, slog.Duration("wait", i.Wait), slog.Any("err", i.Err))
		},
		Renewed: func(ctx context.Context, i RenewedInfo) {
			renewal := []slog.Attr{slog.Uint64("token", i.Token), slog.Duration("held", i.Held), slog.Duration("left", i.Left)}
			if i.Err == nil {
				line(ctx, slog.LevelDebug, "lock renewed", &i.LockInfo, renewal...)
			} else {
				line(ctx, slog.LevelWarn, "lock not renewed", &i.LockInfo, append(renewal, slog.Any("err", i.Err))...)
			}
		},
		Lost: func(ctx context.Context, i LostInfo) {
			line(ctx, slog.LevelWarn, "lock lost", &i.LockInfo, slog.Uint64("token", i.Token), slog.Duration("held", i.Held),
				slog.Any("err", i.Err))
		},
		Released: func(ctx context.Context, i ReleasedInfo) {
			msg := "lock released"
			if i.Term {
				msg = "leader resigned"
			}
			line(ctx, slog.LevelDebug, msg, &i.LockInfo, slog.Uint64("token", i.Token), slog.Duration("held", i.Held),
				slog.Bool("reentrant", i.Reentrant), slog.Any("err", i.Err))
		},
	}
}
