package httpmw

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/distlock-go/distlock"
)

const types = "https://pkg.go.dev/github.com/distlock-go/distlock/httpmw#"

// The types of problems, by which clients tell them from each other and from
// answers of the handler that have the same status. They lead to this page.
const (
	// TypeBadKey: the request does not say what it is about, or in a form that
	// cannot be accepted. Status 400. Repeating it does not help.
	TypeBadKey = types + "TypeBadKey"

	// TypeBodyTooLarge: the body is larger than the server reads. Status 400.
	TypeBodyTooLarge = types + "TypeBodyTooLarge"

	// TypeBusy: another request is working on the same thing. Nothing was done.
	// Status 409 with Retry-After.
	TypeBusy = types + "TypeBusy"

	// TypeQueueFull: too many requests wait already. Nothing was done. Status
	// 429 with Retry-After.
	TypeQueueFull = types + "TypeQueueFull"

	// TypeUnavailable: locks cannot be had at present. Nothing was done. Status
	// 503 with Retry-After.
	TypeUnavailable = types + "TypeUnavailable"

	// TypeLost: the request was begun, but the lock did not last until its end.
	// Whether it took effect is in doubt. Status 503 without Retry-After: find
	// out before repeating what must not happen twice.
	TypeLost = types + "TypeLost"
)

// Problem is an answer in problem JSON (RFC 9457). It is an [http.Handler] that
// writes itself.
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"`

	// RetryAfter becomes the Retry-After header, in whole seconds, rounded up.
	// Zero means none.
	RetryAfter time.Duration `json:"-"`
}

var lost = Problem{
	Type: TypeLost, Title: "Outcome in doubt", Status: http.StatusServiceUnavailable,
	Detail: "the lock was lost before the request was finished",
}

var tooLong = Problem{
	Type: "about:blank", Title: http.StatusText(http.StatusInternalServerError),
	Status: http.StatusInternalServerError,
	Detail: "the response is too large",
}

// ProblemOf returns the answer for an error that an [ErrorHandler] got. It shows
// nothing of the error to the client except the Detail of a [*KeyError].
// RetryAfter is how long the lock is held yet if the store said so, but at most
// KeyTimeout, else RetryInterval.
func ProblemOf(err error) Problem {
	retry := distlock.DefaultRetryInterval
	if hint := new(lockError); errors.As(err, &hint) {
		retry = hint.retryAfter
	}
	switch {
	case errors.Is(err, distlock.ErrKey):
		return keyProblem(err)
	case errors.Is(err, distlock.ErrLost): // the request runs under a lock already, and that is over
		return lost
	case errors.Is(err, distlock.ErrUnavailable), errors.Is(err, distlock.ErrClosed):
		return Problem{
			Type: TypeUnavailable, Title: "Temporarily unavailable",
			Status: http.StatusServiceUnavailable, RetryAfter: retry,
		}
	case errors.Is(err, distlock.ErrQueueFull):
		return Problem{
			Type: TypeQueueFull, Title: "Too many requests are waiting",
			Status: http.StatusTooManyRequests, RetryAfter: retry,
		}
	case errors.Is(err, distlock.ErrNotAcquired):
		return Problem{
			Type: TypeBusy, Title: "Busy with another request",
			Status: http.StatusConflict, RetryAfter: retry,
		}
	default:
		const status = http.StatusInternalServerError
		return Problem{Type: "about:blank", Title: http.StatusText(status), Status: status}
	}
}

func keyProblem(err error) Problem {
	p := Problem{Type: TypeBadKey, Title: "Invalid request", Status: http.StatusBadRequest}
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		p.Type, p.Title = TypeBodyTooLarge, "Request body too large"
	}
	if k := new(KeyError); errors.As(err, &k) {
		p.Detail = k.Detail
	}
	return p
}

// WriteError is the default [ErrorHandler]: it writes the [Problem] that err is.
func WriteError(w http.ResponseWriter, r *http.Request, err error) { ProblemOf(err).ServeHTTP(w, r) }

// ServeHTTP writes p. It leaves the headers that others have set, except those
// that would be wrong for it, and forbids caches to keep the answer.
func (p Problem) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	body, err := json.Marshal(p)
	if err != nil {
		panic("httpmw: " + err.Error()) // strings and an int can always be marshalled
	}
	h := w.Header()
	h.Del("Content-Length")
	h.Set("Content-Type", "application/problem+json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((p.RetryAfter+time.Second-1)/time.Second), 10))
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the client is gone, or has it
}

// lockError is an error of the lock, with what only the call site knows.
type lockError struct {
	error
	retryAfter time.Duration
}

func (e *lockError) Unwrap() error { return e.error }

func (m *middleware) lockError(err error) error {
	return &lockError{err, m.guard.RetryAfter(err)}
}
