package kubelock

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

const sendTimeout = 2 * time.Second

// With version 0 a watch begins with the object as some server knows it, and tells all changes
// after that. Bookmarks would need a new version of etcd: so a watch is short.
const events = "?watch=1&resourceVersion=0&timeoutSeconds=120&fieldSelector=metadata.name%3D"

// Send implements caslock.Messenger. Whatever the version of the object, its watch tells each
// change.
func (s *store) Send(ctx context.Context, topic string, data []byte) {
	o := newObject(topic, "", map[string]string{message: string(data)})
	_ = s.do(ctx, http.MethodPatch, s.leases("/"+o.Metadata.Name), o, o) // a message may be lost
}

// Listen implements caslock.Messenger. The first event tells what the object is now: messages
// before it may have been missed.
func (s *store) Listen(ctx context.Context, topic string, f func(data []byte)) {
	box := newObject(topic, "", nil)
	short, cancel := context.WithTimeout(ctx, sendTimeout)
	_ = s.do(short, http.MethodPost, s.leases(""), box, new(any)) // it may be there already
	cancel()
	defer func() {
		if ctx.Err() != nil { // it is of no more use; a crash leaves it to a sweep
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
			defer cancel()
			_ = s.do(last, http.MethodDelete, s.leases("/"+box.Metadata.Name), nil, new(any))
		}
	}()
	long, cancel := context.WithTimeout(ctx, 125*time.Second)
	defer cancel()
	resp, err := s.send(long, http.MethodGet, s.leases(events+box.Metadata.Name), nil)
	if err != nil {
		return
	}
	defer resp.Body.Close() //nolint:errcheck // a watch is never read to its end
	for d := json.NewDecoder(resp.Body); ; {
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
