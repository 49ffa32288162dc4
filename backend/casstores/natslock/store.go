package natslock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/distlock-go/distlock/backend/caslock"
	_ "github.com/distlock-go/distlock/internal/raise-all-modules-together/v0.1" // one version
)

// store keeps cells in a key-value bucket, and tickets in a stream of its own.
type store struct {
	nc  *nats.Conn
	js  jetstream.JetStream
	cfg Config

	cells   jetstream.Stream // nil before Check
	waiters jetstream.Stream
	pinging atomic.Bool
}

var _ interface {
	caslock.Store
	caslock.Lister
	caslock.Messenger
	caslock.Tickets
} = (*store)(nil)

// String names the server in errors.
func (s *store) String() string {
	return "nats: " + cmp.Or(s.nc.ConnectedUrlRedacted(), "not connected to "+strings.Join(s.nc.Servers(), ","))
}

// subject returns the name of a key in subjects.
func (s *store) subject(key string) string { return "$KV." + s.cfg.Bucket + "." + escape(key) }

func (s *store) tickets(key, owner string) string {
	return "distlock.wait." + s.cfg.Bucket + "." + escape(key) + "." + owner
}

var inSubjects = strings.NewReplacer("%2F", "/", "%", "=", ".", "=2E", "~", "=7E")

// escape writes what has a meaning for NATS as in a URL, with = in place of %.
func escape(key string) string { return inSubjects.Replace(url.QueryEscape(key)) }

// changed reports whether a message was refused because of its condition.
func changed(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == 10164)
}

const (
	patience    = 300 * time.Millisecond // with a request, before a ping
	pingTimeout = 700 * time.Millisecond
)

// watch begins with a request. If the request has no answer soon, and then a ping has none, the
// connection is replaced. The client itself pings every two minutes by default, and a connection
// that died without a word would cost all locks meanwhile. The function that it returns ends it.
func (s *store) watch() (end func() bool) {
	return time.AfterFunc(patience, func() {
		if s.pinging.CompareAndSwap(false, true) {
			defer s.pinging.Store(false)
			if errors.Is(s.nc.FlushTimeout(pingTimeout), nats.ErrTimeout) && s.nc.IsConnected() {
				_ = s.nc.ForceReconnect() // an error means that it is closed
			}
		}
	}).Stop
}

// publish sends a message to a stream.
func (s *store) publish(ctx context.Context, subject string, value []byte, last uint64) (*jetstream.PubAck, error) {
	defer s.watch()()
	ack, err := s.js.Publish(ctx, subject, value, jetstream.WithExpectLastSequencePerSubject(last))
	return ack, s.explain(err)
}

// explain adds to the error of a missing stream what makes it again.
func (s *store) explain(err error) error {
	if gone(err) {
		return fmt.Errorf("%w: if the bucket %q was deleted, a process that starts anew makes it", err, s.cfg.Bucket)
	}
	return err
}

// gone reports whether the stream is missing.
func gone(err error) bool {
	return errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrNoStreamResponse)
}

// read asks for a second. Replicas that have no leader just now answer nothing, and a new one
// does not know of the request. Another process may just have made the stream.
func read[T any](ctx context.Context, s *store, ask func(ctx context.Context) (T, error)) (T, error) {
	defer s.watch()()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	answer, err := ask(ctx)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrDisconnected) || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		err = fmt.Errorf("%w: %w", caslock.ErrNoAnswer, err)
	}
	return answer, s.explain(err)
}

// Load implements caslock.Store.
func (s *store) Load(ctx context.Context, key string) ([]byte, string, error) {
	value, version, err := s.last(ctx, s.subject(key))
	if version == 0 {
		return nil, "", err
	}
	return value, strconv.FormatUint(version, 10), nil
}

// last returns the last message with the subject, and its number; 0 if there is none.
func (s *store) last(ctx context.Context, subject string) ([]byte, uint64, error) {
	m, err := read(ctx, s, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return s.cells.GetLastMsgForSubject(ctx, subject)
	})
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	}
	return m.Data, m.Sequence, nil
}

// Swap implements caslock.Store.
func (s *store) Swap(ctx context.Context, key, version string, value []byte) (string, error) {
	last, err := strconv.ParseUint(cmp.Or(version, "0"), 10, 64)
	if err != nil {
		return "", caslock.ErrChanged // it is no version of this store
	}
	ack, err := s.publish(ctx, s.subject(key), value, last)
	switch {
	case changed(err):
		return "", caslock.ErrChanged
	case err != nil:
		return "", err
	}
	return strconv.FormatUint(ack.Sequence, 10), nil
}

// List implements caslock.Lister. Any replica may answer, and wait for what the leader knows now.
func (s *store) List(ctx context.Context, _ string, each func(key string, value []byte, version string) bool) error {
	_, newest, err := s.last(ctx, "$KV."+s.cfg.Bucket+".>")
	if err != nil || newest == 0 {
		return err
	}
	kv, err := s.js.KeyValue(ctx, s.cfg.Bucket)
	if err != nil {
		return err
	}
	w, err := kv.WatchAll(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() {
		_ = w.Stop()
		for range w.Updates() { // the client blocks for ever in a send that nobody receives
		}
	})
	for v := range w.Updates() {
		if v == nil { // these were all that the replica has
			continue
		}
		key, err := url.PathUnescape(strings.ReplaceAll(v.Key(), "=", "%"))
		if err == nil && !each(key, v.Value(), strconv.FormatUint(v.Revision(), 10)) || v.Revision() >= newest {
			return nil
		}
	}
	return ctx.Err()
}

// Send implements caslock.Messenger. The client sends messages from a buffer: without the flush, a
// process that ends just after a release wakes nobody.
func (s *store) Send(ctx context.Context, topic string, data []byte) {
	_ = s.nc.Publish(s.topic(topic), data)
	_ = s.nc.FlushWithContext(ctx)
}

func (s *store) topic(topic string) string { return "distlock.tell." + s.cfg.Bucket + "." + topic }

// Listen implements caslock.Messenger.
func (s *store) Listen(ctx context.Context, topic string, f func(data []byte)) {
	broken := s.nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer s.nc.RemoveStatusListener(broken)
	sub, err := s.nc.Subscribe(s.topic(topic), func(m *nats.Msg) { f(m.Data) })
	if err != nil {
		return // the connection is closed
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection is closed
	short, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if s.nc.FlushWithContext(short) != nil {
		return
	}
	f(nil)
	select {
	case <-broken:
	case <-ctx.Done():
	}
}
