package httpmw_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
)

// TestProblemOf has each code of an error, and errors that match several others.
func TestProblemOf(t *testing.T) {
	join := func(errs ...error) error {
		return &distlock.Error{Op: "acquire", Key: "shop:pay:7", Err: errors.Join(errs...)}
	}
	for _, c := range []struct {
		err  error
		want httpmw.Problem
	}{
		{join(distlock.ErrKey), badKey("")},
		{&distlock.KeyError{Detail: "x"}, badKey("x")},
		{fmt.Errorf("wrapped: %w", &distlock.KeyError{Detail: "x"}), badKey("x")},
		{&http.MaxBytesError{}, internal}, // says nothing of a key
		{join(distlock.ErrNotAcquired, context.DeadlineExceeded), busy},
		{join(distlock.ErrNotAcquired, context.Canceled), busy},
		{join(distlock.ErrNotAcquired, distlock.ErrUnavailable, context.Canceled), unavailable},
		{join(distlock.ErrUnavailable, context.DeadlineExceeded), unavailable},
		{join(distlock.ErrClosed), unavailable},
		{join(distlock.ErrLost, distlock.ErrClosed), lost},
		{join(distlock.ErrQueueFull), queueFull},
		{join(errForeign), busy},
		{join(errForeign, context.DeadlineExceeded), busy},
		{context.Canceled, internal},
		{&distlock.Error{Op: "options", Err: errBroken}, internal},
		{distlock.ErrUpgrade, internal},
		{distlock.ErrReentry, internal},
		{distlock.ErrNoFencing, internal},
		{errBroken, internal},
	} {
		got := httpmw.ProblemOf(c.err)
		if c.want.Status != http.StatusBadRequest && c.want != internal && c.want != lost {
			c.want.RetryAfter = distlock.DefaultRetryInterval
		}
		if got != c.want {
			t.Errorf("%v: %+v, want %+v", c.err, got, c.want)
		}
	}
}

func TestRetryAfterIsRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "", 1: "1", time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", 90 * time.Second: "90",
	} {
		p := busy
		p.RetryAfter = d
		wantProblem(t, record(p, httptest.NewRequest("GET", "/", nil)), busy, want)
	}
}

func TestAProblemKeepsTheHeadersOfOthers(t *testing.T) {
	w := httptest.NewRecorder()
	for name, value := range map[string]string{
		"X-Request-Id": "1", "Content-Length": "1000", "Content-Type": "text/html", "Cache-Control": "public, max-age=3600",
	} {
		w.Header().Set(name, value)
	}
	httpmw.WriteError(w, nil, distlock.ErrQueueFull)
	wantProblem(t, answer{w.Code, w.Header(), nil, w.Body.String()}, queueFull, "1")
	if w.Header().Get("X-Request-Id") != "1" || w.Header().Get("Content-Length") != "" {
		t.Errorf("header %v", w.Header())
	}
}
