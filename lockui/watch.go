package lockui

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/clock"
)

const (
	// pollInterval is the pause between two requests to the store for a prefix.
	pollInterval = 500 * time.Millisecond

	// jitter is how much the end of a lease may seem to move although it does not.
	// Renewals move it further.
	jitter = 250 * time.Millisecond
)

// join adds a client to the watch of a prefix. The client must leave it.
func (h *Handler) join(ctx context.Context, prefix string) *watch {
	h.mu.Lock()
	defer h.mu.Unlock()
	w, ok := h.watches[prefix]
	if !ok {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // others may look for longer than this client
		w = &watch{prefix: prefix, stop: stop, changed: make(chan struct{})}
		h.watches[prefix] = w
		go h.poll(ctx, w)
	}
	w.clients++
	return w
}

// leave removes a client. The last one ends the watch.
func (h *Handler) leave(w *watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.clients--; w.clients == 0 {
		w.stop()
		delete(h.watches, w.prefix)
	}
}

// list answers with the page or with the locks.
func (h *Handler) list(w http.ResponseWriter, r *http.Request) error {
	if wantsPage(w, r) {
		return servePage(w, r)
	}
	prefix, err := h.prefixOf(r)
	if err != nil {
		return err
	}
	watched := h.join(r.Context(), prefix) // who comes during a look of another gets its result
	defer h.leave(watched)
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	now, _ := h.look(ctx, watched, nil)
	if now.err != nil {
		return now.err
	}
	writeLocks(w, now.locks)
	return nil
}

// look returns the state, which may be an error, once there is one. It also returns a channel
// that is closed when there is another.
func (h *Handler) look(ctx context.Context, w *watch, closed <-chan struct{}) (state, <-chan struct{}) {
	for {
		h.mu.Lock()
		now, changed := w.state, w.changed
		h.mu.Unlock()
		if now.known {
			return now, changed
		}
		select {
		case <-ctx.Done():
			return state{err: ctx.Err()}, nil
		case <-closed:
			return state{err: distlock.ErrClosed}, nil
		case <-changed:
		}
	}
}

// poll asks the store until ctx ends.
func (h *Handler) poll(ctx context.Context, w *watch) {
	var before locksJSON
	for ok := true; ok; ok = clock.Sleep(ctx, pollInterval) {
		found, err := h.inspect(ctx, w.prefix, maxKeys+1) // one shows that there are more
		next := state{known: true, err: err}
		if err == nil {
			found.settle(before)
			before, next.locks = found, found.encode()
		}
		h.publish(w, next)
	}
}

func (h *Handler) publish(w *watch, next state) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if codeOf(w.state.err) == codeOf(next.err) && bytes.Equal(w.state.locks, next.locks) {
		return
	}
	w.state = next
	close(w.changed)
	w.changed = make(chan struct{})
}

// codeOf returns the text of the error for the page; "ok" if there is none.
func codeOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return distlock.CodeUnavailable.String()
	}
	return distlock.CodeOf(err).String()
}

// settle takes the end of each lease from before if it has only seemed to move.
func (l locksJSON) settle(before locksJSON) {
	type lease struct{ key, fingerprint string }
	until := make(map[lease]time.Time)
	for _, lock := range before.Locks {
		for _, holder := range lock.Holders {
			until[lease{lock.Key, holder.Fingerprint}] = holder.Until
		}
	}
	for _, lock := range l.Locks {
		for i := range lock.Holders {
			holder := &lock.Holders[i]
			if t := until[lease{lock.Key, holder.Fingerprint}]; holder.Until.Sub(t).Abs() < jitter {
				holder.Until = t
			}
		}
	}
}
