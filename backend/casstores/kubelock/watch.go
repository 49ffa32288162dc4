package kubelock

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
)

const (
	sendTimeout = 2 * time.Second

	// silence is how long a watch may tell nothing. The server sends a bookmark every minute.
	silence = 150 * time.Second
)

const events = "?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&fieldSelector=metadata.name%3D"

// Send implements caslock.Messenger. Whatever the version of the object, its watch tells each
// change.
func (s *store) Send(topic string, data []byte) {
	s.beside.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), sendTimeout) //nolint:forbidigo // beside the caller
		defer cancel()
		o := newObject(topic, "", map[string]string{message: string(data)})
		_ = s.do(ctx, http.MethodPatch, s.leases("/"+o.Metadata.Name), o, o) // a message may be lost
	})
}

// Listen implements caslock.Messenger.
func (s *store) Listen(ctx context.Context, topic string, f func(data []byte)) {
	s.beside.Go(func() {
		box := newObject(topic, "", nil)
		for ctx.Err() == nil {
			began := time.Now()
			short, cancel := context.WithTimeout(ctx, sendTimeout)
			_ = s.do(short, http.MethodPost, s.leases(""), box, new(any)) // it may be there already
			cancel()
			s.watch(ctx, box.Metadata.Name, f)
			if time.Since(began) < time.Second {
				clock.Sleep(ctx, time.Second)
			}
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
		defer cancel()
		_ = s.do(ctx, http.MethodDelete, s.leases("/"+box.Metadata.Name), nil, new(any)) // or it is swept
	})
}

// watch calls f for the messages to an object. The first event tells what the object is now: those
// before it may have been missed.
func (s *store) watch(ctx context.Context, name string, f func(data []byte)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := time.AfterFunc(silence, cancel)
	defer idle.Stop()
	resp, err := s.send(ctx, http.MethodGet, s.leases(events+name), nil)
	if err != nil {
		return
	}
	defer resp.Body.Close() //nolint:errcheck // a watch is never read to its end
	for d := json.NewDecoder(resp.Body); ; idle.Reset(silence) {
		var e struct {
			Type   string
			Object object
		}
		switch err := d.Decode(&e); {
		case err != nil, e.Type == "ERROR", e.Type == "DELETED":
			return
		case e.Type == "ADDED":
			f(nil)
		case e.Type == "MODIFIED":
			f([]byte(e.Object.Metadata.Annotations[message]))
		}
	}
}
