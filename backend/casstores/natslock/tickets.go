package natslock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// PutTicket implements caslock.Tickets.
func (s *store) PutTicket(ctx context.Context, key, owner string, value []byte) error {
	_, err := s.js.Publish(ctx, s.tickets(key, escape(owner)), value, jetstream.WithExpectLastSequencePerSubject(0))
	if changed(err) {
		return nil
	}
	return err
}

// RemoveTicket implements caslock.Tickets.
func (s *store) RemoveTicket(ctx context.Context, key, owner string) error {
	return s.waiters.Purge(ctx, jetstream.WithPurgeSubject(s.tickets(key, escape(owner))))
}

// OldestTickets implements caslock.Tickets. Many could be read in one request, but any replica
// may answer that. A leader gives one for each request.
func (s *store) OldestTickets(ctx context.Context, key string, n int) (values [][]byte, err error) {
	if s.single {
		return s.batch(ctx, s.tickets(key, "*"), n)
	}
	return s.nextTickets(ctx, s.tickets(key, "*"), n)
}

// nextTickets reads tickets one by one from the leader.
func (s *store) nextTickets(ctx context.Context, subject string, n int) (values [][]byte, err error) {
	for from := uint64(1); len(values) < n; {
		ask := fmt.Appendf(nil, `{"seq":%d,"next_by_subj":%q}`, from, subject)
		m, err := s.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+s.waitersName(), ask)
		if err != nil {
			return nil, err
		}
		var answer struct {
			Message struct {
				Seq  uint64 `json:"seq"`
				Data []byte `json:"data"`
			} `json:"message"`
			Error *jetstream.APIError `json:"error"`
		}
		if err := json.Unmarshal(m.Data, &answer); err != nil {
			return nil, err
		}
		switch {
		case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
			return values, nil
		case answer.Error != nil:
			return nil, answer.Error
		}
		values, from = append(values, answer.Message.Data), answer.Message.Seq+1
	}
	return values, nil
}

// batch reads tickets in one request.
func (s *store) batch(ctx context.Context, subject string, n int) (values [][]byte, err error) {
	inbox := s.nc.NewRespInbox()
	sub, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection is closed
	ask := fmt.Appendf(nil, `{"seq":1,"next_by_subj":%q,"batch":%d}`, subject, n)
	if err := s.nc.PublishRequest("$JS.API.DIRECT.GET."+s.waitersName(), inbox, ask); err != nil {
		return nil, err
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		switch status := m.Header.Get("Status"); status {
		case "":
			values = append(values, m.Data)
		case "204", "404": // there are no more
			return values, nil
		default:
			return nil, errors.New(status + " " + m.Header.Get("Description"))
		}
	}
}
