package httpmw

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/request"
)

const types = "https://pkg.go.dev/github.com/distlock-go/distlock/httpmw#"

// The types of problems, which are links to this page. They tell clients one problem from
// another, and from answers of the handler with the same status. If Retry-After comes with
// it, nothing was done.
const (
	TypeBadKey       = types + "TypeBadKey"       // 400: the request does not say what to lock, or in a form that is not acceptable
	TypeBodyTooLarge = types + "TypeBodyTooLarge" // 413: the body is larger than the server reads
	TypeBusy         = types + "TypeBusy"         // 409 with Retry-After: another holder has the lock
	TypeQueueFull    = types + "TypeQueueFull"    // 429 with Retry-After: too many requests wait already
	TypeUnavailable  = types + "TypeUnavailable"  // 503 with Retry-After: the store of the locks does not work at present
	TypeStale        = types + "TypeStale"        // 412: a later holder of the lock has used what the request is about; nothing was written
	TypeTicket       = types + "TypeTicket"       // 403: the ticket of the caller's lock is missing, or not in order
	TypeReentry      = types + "TypeReentry"      // 409: the caller holds the lock itself; a repetition is no help
	TypeLost         = types + "TypeLost"         // 424: the work began and was not finished under its lock; the outcome is in doubt
)

// Problem is an answer in problem JSON (RFC 9457). It is an [http.Handler] that writes
// itself.
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

var internal = Problem{
	Type: "about:blank", Title: http.StatusText(http.StatusInternalServerError),
	Status: http.StatusInternalServerError,
}

// lost has a status that machines in between do not repeat: they repeat 5xx, and of 4xx 408,
// 409, 425, 429 and others. docs/operations.md has the table.
var lost = Problem{
	Type: TypeLost, Title: "Outcome in doubt", Status: http.StatusFailedDependency,
	Detail: "the lock was lost before the request was finished",
}

// problems has the answer for each code; the answer for all others is internal.
var problems = map[distlock.Code]Problem{
	distlock.CodeLost:        lost, // the request runs under a lock already, and that is over
	request.CodeBegun:        {Type: TypeLost, Title: lost.Title, Status: lost.Status, Detail: "the request failed after its work had begun"},
	request.CodeStale:        {Type: TypeStale, Title: "A later holder of the lock was here", Status: http.StatusPreconditionFailed},
	request.CodeTicket:       {Type: TypeTicket, Title: "The ticket is not acceptable", Status: http.StatusForbidden},
	distlock.CodeKey:         {Type: TypeBadKey, Title: "Invalid request", Status: http.StatusBadRequest},
	distlock.CodeReentry:     {Type: TypeReentry, Title: "The caller holds the lock", Status: http.StatusConflict},
	distlock.CodeClosed:      {Type: TypeUnavailable, Title: "Temporarily unavailable", Status: http.StatusServiceUnavailable},
	distlock.CodeUnavailable: {Type: TypeUnavailable, Title: "Temporarily unavailable", Status: http.StatusServiceUnavailable},
	distlock.CodeNotAcquired: {Type: TypeBusy, Title: "Busy with another request", Status: http.StatusConflict},
	distlock.CodeQueueFull:   {Type: TypeQueueFull, Title: "Too many requests are waiting", Status: http.StatusTooManyRequests},
}

// ProblemOf returns the answer for the error of an [ErrorHandler]. It shows nothing of
// the error except the Detail of a [*distlock.KeyError]. RetryAfter comes from the
// [*distlock.Error], or [distlock.DefaultRetryInterval] if the error has none. If the function
// ran, see [distlock.Ran], the answer has none.
func ProblemOf(err error) Problem { return problemOf(context.Background(), err) } //nolint:forbidigo // of no lock

func problemOf(ctx context.Context, err error) Problem {
	a := request.AnswerOf(ctx, err)
	p := cmp.Or(problems[a.Code], internal)
	p.RetryAfter, p.Detail = a.RetryAfter, cmp.Or(a.Detail, p.Detail)
	if large := new(http.MaxBytesError); p.Type == TypeBadKey && errors.As(err, &large) {
		p.Type, p.Title, p.Status = TypeBodyTooLarge, "Request body too large", http.StatusRequestEntityTooLarge
	}
	return p
}

// WriteError writes the [Problem] of err. In a handler that runs under a lock, it is TypeLost if
// another lock refuses it: its work has begun. If it has not, write what [ProblemOf] returns.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	problemOf(r.Context(), err).ServeHTTP(w, r)
}

// ServeHTTP writes p. It keeps the headers that others have set, except headers that
// would be wrong for p, and forbids caches to store the answer.
func (p Problem) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Del("Content-Length")
	h.Set("Content-Type", "application/problem+json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((p.RetryAfter+time.Second-1)/time.Second), 10))
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // an error means that the client is gone
}
