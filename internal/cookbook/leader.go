package cookbook

import (
	"context"
	"log/slog"

	"github.com/distlock-go/distlock"
)

// Mail is an entry of the queue.
type Mail struct{ ID int }

// Outbox is the queue, a table in a database.
type Outbox interface {
	// Begin fails if no row matches: UPDATE leader SET term = $1 WHERE term < $1
	Begin(ctx context.Context, term uint64) error

	// Next waits for the first mail that is not done.
	Next(ctx context.Context) (Mail, error)

	// Finish marks a mail as done, and in the same transaction it fails if no row
	// matches: UPDATE leader SET term = $1 WHERE term = $1
	Finish(ctx context.Context, term uint64, m Mail) error
}

// SendMails sends the mails of the outbox in their order while this process is the
// leader. Run it in every process. It returns when ctx ends.
func SendMails(ctx context.Context, locker *distlock.Locker, box Outbox, send func(context.Context, Mail) error) error {
	opts := distlock.Opts{Prefix: "leader:", Value: "outbox", Fencing: true}
	return locker.Lead(ctx, "outbox", opts, func(ctx context.Context) error {
		lease, _ := distlock.FromContext(ctx)
		term := lease.Token()
		err := box.Begin(ctx, term)
		for err == nil {
			var m Mail
			if m, err = box.Next(ctx); err == nil {
				err = send(ctx, m)
			}
			if err == nil {
				err = box.Finish(ctx, term, m)
			}
		}
		slog.InfoContext(ctx, "resigned", "term", term, "reason", err)
		return nil // resign, and take part in the next election
	})
}
