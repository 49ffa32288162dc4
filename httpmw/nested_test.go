package httpmw_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestNestedCall is what docs/guide.md says about a locked call that makes another call for the
// same key: it waits for itself, and the error names the holder of the key. Called with
// the context and without the network, it re-enters.
func TestNestedCall(t *testing.T) {
	failed := make(chan error, 1)
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{Holder: "web-3/1432", Hooks: distlock.Hooks{
		Failed: func(_ context.Context, i distlock.FailedInfo) { failed <- i.Err },
	}})
	locked := httpmw.Lock(l, constant("7"), distlock.Opts{Prefix: "shop:", Value: "pay", MaxWait: 50 * time.Millisecond})
	mux := http.NewServeMux()
	inner := locked(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	mux.Handle("/inner", inner)
	mux.Handle("/outer", locked(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("by") == "call" {
			inner.ServeHTTP(w, r)
			return
		}
		again, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://"+r.Host+"/inner", nil)
		if err != nil {
			t.Error(err)
			return
		}
		res, err := http.DefaultClient.Do(again)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		w.WriteHeader(res.StatusCode)
	})))
	server := httptest.NewServer(mux)
	defer server.Close()

	if got := get(t, server.URL+"/outer?by=call"); got != http.StatusAccepted {
		t.Errorf("called with the context: %d", got)
	}
	if got := get(t, server.URL+"/outer?by=network"); got == http.StatusAccepted {
		t.Errorf("called over the network: %d", got)
	}
	err := <-failed
	held := new(distlock.HeldError)
	if !errors.As(err, &held) || !held.Local || held.Held < 50*time.Millisecond || held.Holder != "web-3/1432" {
		t.Errorf("%+v", held)
	}
	if text := err.Error(); !strings.Contains(text, "held by this process for ") || !strings.Contains(text, keyOf(t, "7")) {
		t.Errorf("%s does not say who has which key", text)
	}
}

func get(t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}
