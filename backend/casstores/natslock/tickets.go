package natslock

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// PutTicket implements caslock.Tickets. The stream is in memory: a server that is alone loses it
// when it starts anew.
func (s *store) PutTicket(ctx context.Context, key, owner string, value []byte) error {
	_, err := s.publish(ctx, s.tickets(key, escape(owner)), value, 0)
	if gone(err) {
		if _, err = s.queue(ctx); err == nil {
			_, err = s.publish(ctx, s.tickets(key, escape(owner)), value, 0)
		}
	}
	if changed(err) {
		return nil
	}
	return err
}

// RemoveTicket implements caslock.Tickets.
func (s *store) RemoveTicket(ctx context.Context, key, owner string) error {
	if err := s.waiters.Purge(ctx, jetstream.WithPurgeSubject(s.tickets(key, escape(owner)))); !gone(err) {
		return err
	}
	return nil
}

// OldestTickets implements caslock.Tickets. Many could be read in one request, but any replica
// may answer that. A leader gives one for each request.
func (s *store) OldestTickets(ctx context.Context, key string, n int) (values [][]byte, err error) {
	for from := uint64(1); len(values) < n; {
		m, err := read(ctx, s, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
			return s.waiters.GetMsg(ctx, from, jetstream.WithGetMsgSubject(s.tickets(key, "*")))
		})
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound), gone(err):
			return values, nil
		case err != nil:
			return nil, err
		}
		values, from = append(values, m.Data), m.Sequence+1
	}
	return values, nil
}
