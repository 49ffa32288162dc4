package lockui

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/distlock-go/distlock"
)

// problem is an answer in problem JSON (RFC 9457), with only what clients may know.
type problem struct {
	status int
	detail string
}

func (p *problem) Error() string { return p.detail }

// problemOf returns the answer for an error of this package or of the Locker.
func problemOf(err error) *problem {
	if p := new(problem); errors.As(err, &p) {
		return p
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return &problem{http.StatusNotImplemented, "the backend of the locks cannot list them"}
	case errors.Is(err, distlock.ErrForeign):
		return &problem{http.StatusConflict, "the key contains something that is not a lock of this library"}
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{http.StatusServiceUnavailable, "the store of the locks took too long"}
	}
	switch distlock.CodeOf(err) {
	case distlock.CodeKey:
		return &problem{http.StatusBadRequest, "the key is not the key of a lock"}
	case distlock.CodeUnavailable:
		return &problem{http.StatusServiceUnavailable, "the store of the locks does not answer"}
	case distlock.CodeClosed:
		return &problem{http.StatusServiceUnavailable, "this process shuts down"}
	default:
		return &problem{http.StatusInternalServerError, ""}
	}
}

// writeProblem answers with err. An error that the client must not see is replaced.
func writeProblem(w http.ResponseWriter, err error) {
	p := problemOf(err)
	w.Header().Set("Content-Type", "application/problem+json")
	if p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(p.status)
	_ = json.NewEncoder(w).Encode(struct { // an error means that the client is gone
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail,omitempty"`
	}{http.StatusText(p.status), p.status, p.detail})
}
