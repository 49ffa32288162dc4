package httpmw

import (
	"bytes"
	"io"
	"math"
	"net/http"

	"github.com/distlock-go/distlock"
)

// replay is a body that was read and can be read again.
type replay struct {
	bytes.Reader
	data []byte
	orig io.Closer
}

// Close closes the body that was read.
func (b *replay) Close() error { return b.orig.Close() }

// readBody returns the request's body and puts the same body in its place. If the body
// is too large or cannot be read, the error is a KeyError, and the handler can still
// read all of it.
func readBody(r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if b, ok := r.Body.(*replay); ok && b.Len() == len(b.data) {
		if int64(len(b.data)) > limit {
			return nil, tooLarge(limit)
		}
		return b.data, nil
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	orig := r.Body
	data, err := io.ReadAll(io.LimitReader(orig, min(limit, math.MaxInt64-1)+1))
	if err == nil && int64(len(data)) > limit {
		err = tooLarge(limit)
	} else if err != nil {
		err = &distlock.KeyError{Detail: "the body could not be read", Err: err}
	}
	if err != nil {
		r.Body = &unread{io.MultiReader(bytes.NewReader(data), orig), orig}
		return nil, err
	}
	b := &replay{data: data, orig: orig}
	b.Reset(data)
	r.Body = b
	return data, nil
}

// unread is a body with its first part read and put back.
type unread struct {
	io.Reader
	io.Closer
}

// tooLarge wraps the error of net/http for the same thing, so limits that others set
// get the same answer.
func tooLarge(limit int64) error {
	return &distlock.KeyError{Detail: "the body is too large", Err: &http.MaxBytesError{Limit: limit}}
}
