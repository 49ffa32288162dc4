package lockui

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/distlock-go/distlock"
)

const (
	// beatInterval is the longest time without a byte on a stream, so that proxies keep
	// it, and the server notices that a client is gone.
	beatInterval = 15 * time.Second

	// writeTimeout is how long a client may take to read.
	writeTimeout = 10 * time.Second
)

// events sends the locks of a prefix as server-sent events.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) error {
	prefix, err := h.prefixOf(r)
	if err != nil {
		return err
	}
	watched := h.join(r.Context(), prefix)
	defer h.leave(watched)
	now, changed := h.look(r.Context(), watched, h.closed)
	if errors.Is(now.err, errors.ErrUnsupported) || errors.Is(now.err, distlock.ErrClosed) {
		return now.err
	}
	s, err := openStream(w)
	if err != nil {
		return err
	}
	s.send(now)
	beat := time.NewTicker(beatInterval)
	defer beat.Stop()
	for s.err == nil {
		select {
		case <-r.Context().Done():
			return nil
		case <-h.closed:
			return nil
		case <-changed:
			now, changed = h.look(r.Context(), watched, h.closed)
			s.send(now)
			if errors.Is(now.err, distlock.ErrClosed) {
				return nil
			}
		case <-beat.C:
			s.write([]byte(":\n\n"))
		}
	}
	return nil
}

// stream is the body of an event stream.
type stream struct {
	w    http.ResponseWriter
	ctrl *http.ResponseController
	err  error // of the first write that failed: the client is gone
}

// openStream sends the header. The WriteTimeout of the server is for requests that end;
// each write to the stream has a deadline of its own instead.
func openStream(w http.ResponseWriter) (*stream, error) {
	s := &stream{w: w, ctrl: http.NewResponseController(w)}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // nginx would keep events back
	if s.flush(); errors.Is(s.err, http.ErrNotSupported) {
		return nil, &problem{http.StatusInternalServerError, "the server cannot send events: a middleware has replaced the ResponseWriter by one that cannot flush"}
	}
	return s, nil
}

func (s *stream) send(now state) {
	if now.err != nil {
		s.write(fmt.Appendf(nil, "event: unavailable\ndata: {\"error\":%q}\n\n", codeOf(now.err)))
		return
	}
	s.write(fmt.Appendf(nil, "event: locks\ndata: %s\n\n", withTime(now.locks, time.Now())))
}

func (s *stream) write(event []byte) {
	if s.err != nil {
		return
	}
	if _, s.err = s.w.Write(event); s.err == nil {
		s.flush()
	}
}

func (s *stream) flush() {
	_ = s.ctrl.SetWriteDeadline(time.Now().Add(writeTimeout)) // unsupported: a slow client may block
	s.err = s.ctrl.Flush()
}
