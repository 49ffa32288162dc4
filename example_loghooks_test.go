package distlock_test

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// ExampleLogHooks demonstrates the lines of a lease that is lost.
func ExampleLogHooks() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelInfo, // slog.LevelDebug shows each lock
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "token" || a.Key == "held" {
				return slog.Attr{} // not the same each time
			}
			return a
		},
	}))
	locker := distlock.New(memlock.New(), distlock.Config{Hooks: distlock.LogHooks(log)})

	report := distlock.Opts{Value: "report", MaxHold: 10 * time.Millisecond}
	_ = locker.Do(context.Background(), "daily", report, func(ctx context.Context) error {
		<-ctx.Done() // runs for too long
		return ctx.Err()
	})
	_ = locker.Close() // waits for the hooks
	// Output:
	// level=WARN msg="lock lost" name=report key=daily err="lock lost: held for MaxHold, 10ms"
}
