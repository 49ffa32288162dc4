package httpmw_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestMaxWait limits the wait of a request and neither its context nor its handler.
func TestMaxWait(t *testing.T) {
	const maxWait, work = 3 * time.Second, 10 * time.Second
	o := opts()
	o.RetryCount, o.MaxWait = 0, maxWait
	working := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			t.Errorf("the handler was ended: %v", r.Context().Err())
		case <-time.After(work):
		}
		if end, ok := r.Context().Deadline(); ok {
			t.Errorf("the handler has a deadline: %v", end)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	for name, c := range map[string]struct {
		acquire    error         // of all attempts
		release    time.Duration // the holder releases; 0: not at all
		want       httpmw.Problem
		retryAfter string
	}{
		"busy":        {nil, 0, busy, "10"},
		"unavailable": {errBroken, 0, unavailable, "1"},
		"served":      {nil, 2 * time.Second, httpmw.Problem{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := testkit.NewStore()
				l := testkit.NewLocker(t, s, distlock.Config{})
				held := hold(t, s, keyOf(t, "7"))
				s.Fail(c.acquire, testkit.Try, testkit.Wait)
				defer s.Fail(nil)
				handler := never(t)
				if c.release > 0 {
					time.AfterFunc(c.release, func() {
						if err := held.Release(held.Context()); err != nil {
							t.Error(err)
						}
					})
					handler = working
				}
				r := httptest.NewRequest("POST", "/", nil)
				start := time.Now()
				got := record(httpmw.Lock(l, constant("7"), o)(handler), r)
				took := time.Since(start)
				if err := r.Context().Err(); err != nil {
					t.Errorf("the request's context: %v", err)
				}
				if c.release > 0 {
					if got.status != http.StatusNoContent || took != c.release+work {
						t.Errorf("%d after %v: %s", got.status, took, got.body)
					}
					return
				}
				wantProblem(t, got, c.want, c.retryAfter)
				if took != maxWait {
					t.Errorf("answered after %v, want %v", took, maxWait)
				}
			})
		})
	}
}
