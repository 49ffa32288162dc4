package backendurl

import (
	"context"
	"fmt"
	"log/slog"
)

// debugLogger moves the messages of a client about failed connections from stderr to
// slog's debug level. The command that opens the backend reports its own errors. The
// value is the name of the client.
type debugLogger string

// Printf implements the logger interface of go-redis.
func (client debugLogger) Printf(ctx context.Context, format string, v ...any) {
	client.log(ctx, func() string { return fmt.Sprintf(format, v...) })
}

// Print implements the logger interface of go-sql-driver/mysql.
func (client debugLogger) Print(v ...any) {
	client.log(context.Background(), func() string { return fmt.Sprint(v...) }) //nolint:forbidigo // the interface has none
}

func (client debugLogger) log(ctx context.Context, text func() string) {
	if slog.Default().Enabled(ctx, slog.LevelDebug) {
		slog.DebugContext(ctx, string(client)+": "+text())
	}
}
