package kubelock

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
)

const (
	sendTimeout  = 2 * time.Second
	sweepTimeout = 10 * time.Second
	keep         = 48 * time.Hour // an object that nobody writes

	// silence is how long a watch may tell nothing. The server sends a bookmark every minute.
	silence = 150 * time.Second
)

const events = "?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&fieldSelector=metadata.name%3D"

// Send implements caslock.Messenger. Whatever the version of the object, its watch tells each
// change.
func (s *store) Send(topic string, data []byte) {
	s.run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), sendTimeout) //nolint:forbidigo // beside the caller
		defer cancel()
		o := newObject(topic, "", map[string]string{message: string(data)})
		_ = s.do(ctx, http.MethodPatch, s.leases("/"+o.Metadata.Name), o, o) // a message may be lost
	})
}

// Listen implements caslock.Messenger.
func (s *store) Listen(ctx context.Context, topic string, f func(data []byte)) {
	s.run(func() {
		box := newObject(topic, "", nil)
		for last := ""; ctx.Err() == nil; {
			began := time.Now()
			if last == "" { // it begins, or events may have been missed
				if last = s.open(ctx, box); last != "" {
					f(nil)
				}
			}
			if last != "" {
				last = s.watch(ctx, box.Metadata.Name, last, f)
			}
			if time.Since(began) < time.Second {
				clock.Sleep(ctx, time.Second)
			}
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
		defer cancel()
		_ = s.do(ctx, http.MethodDelete, s.leases("/"+box.Metadata.Name), nil, new(any)) // or it is swept
	})
}

// open makes the object of messages, and returns the version from which to watch, or "" if it
// cannot. The version of an object that is there already may be too old.
func (s *store) open(ctx context.Context, box *object) string {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := s.do(ctx, http.MethodPost, s.leases(""), box, new(any)); err != nil && !is(err, "AlreadyExists") {
		return ""
	}
	var all struct {
		Metadata struct{ ResourceVersion string }
	}
	_ = s.do(ctx, http.MethodGet, s.leases("?fieldSelector=metadata.name%3D"+box.Metadata.Name), nil, &all)
	return all.Metadata.ResourceVersion
}

// watch calls f for the messages after a version. It returns the version from which the next
// request goes on, or "" if that cannot be: the object is gone, or the server has forgotten what
// happened since.
func (s *store) watch(ctx context.Context, name, last string, f func(data []byte)) string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := time.AfterFunc(silence, cancel)
	defer idle.Stop()
	resp, err := s.send(ctx, http.MethodGet, s.leases(events+name+"&resourceVersion="+last), nil)
	if err != nil {
		if is(err, "Expired") || is(err, "Gone") {
			return ""
		}
		return last
	}
	defer resp.Body.Close() //nolint:errcheck // a watch is never read to its end
	for d := json.NewDecoder(resp.Body); ; idle.Reset(silence) {
		var e struct {
			Type   string
			Object object
		}
		switch err := d.Decode(&e); {
		case err != nil:
			return last
		case e.Type == "ERROR", e.Type == "DELETED":
			return ""
		}
		last = e.Object.Metadata.ResourceVersion
		if data := e.Object.Metadata.Annotations[message]; data != "" {
			f([]byte(data))
		}
	}
}
