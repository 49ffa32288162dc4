package httpmw

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/request"
)

// readBody returns the request's body and puts the same body in its place. If the body
// is too large or cannot be read, the error is a KeyError, and the handler can still
// read all of it.
func readBody(r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	orig := r.Body
	data, err := io.ReadAll(io.LimitReader(orig, min(limit, math.MaxInt64-1)+1))
	if err == nil && int64(len(data)) > limit {
		err = tooLarge(limit)
	} else if err != nil && !errors.Is(err, distlock.ErrQueueFull) {
		err = &distlock.KeyError{Detail: "the body could not be read", Err: err}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(data), orig), orig}
	return data, err
}

// pass calls serve with a copy of r in the context ctx. net/http looks at the body of its own
// request before an early answer, and at the form when it removes the files.
func pass(ctx context.Context, r *http.Request, serve func(r *http.Request)) {
	inner := r.WithContext(ctx)
	defer func() { r.MultipartForm = inner.MultipartForm }()
	serve(inner)
}

// interruptible is the body of a handler. Its reads end when the lease of ctx is lost.
type interruptible struct {
	io.ReadCloser
	ctx context.Context //nolint:containedctx // of the handler
}

func (b *interruptible) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = cmp.Or(request.Lost(b.ctx), err)
	}
	return n, err
}

// interrupt ends reads of the body, or of the connection if it was hijacked, when the lease of
// ctx is lost: a client that is stuck does not keep the key. Where w cannot do that, reads go on.
// The caller calls stop when its handler has returned.
func interrupt(ctx context.Context, w http.ResponseWriter) (stop func()) {
	done := make(chan struct{})
	unregister := context.AfterFunc(ctx, func() {
		defer close(done)
		if request.Lost(ctx) != nil {
			_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
		}
	})
	return func() {
		if !unregister() {
			<-done // the connection may have a next request
		}
	}
}

// counted is a body whose bytes are counted when they are read, as long as the call waits.
type counted struct {
	io.ReadCloser
	call *request.Call
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if full := c.call.Add(n); full != nil {
		return n, full
	}
	return n, err
}

// tooLarge wraps the error of net/http for the same thing, so limits that others set
// get the same answer.
func tooLarge(limit int64) error {
	return &distlock.KeyError{Detail: "the body is too large", Err: &http.MaxBytesError{Limit: limit}}
}
