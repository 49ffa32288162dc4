package httpmw_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

var boundary = fence.Signed([]byte(strings.Repeat("s", 32)))

const ticketHeader = "Distlock-Ticket"

// postAs sends a request of a caller whose context is ctx.
func postAs(ctx context.Context, t *testing.T, target string) (answer, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: httpmw.SendTickets(transport, boundary)}).Do(r)
	if r.Header.Get(ticketHeader) != "" {
		t.Error("the caller's own request has the ticket, and may be sent elsewhere")
	}
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, nil, string(body)}, err
}

// A route runs under the ticket of its caller. A lock of the same key, on the route or in the
// handler, would wait for the caller, and is refused at once. Others are not.
func TestHandlerRunsUnderItsCallersTicket(t *testing.T) {
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{})
	o := opts()
	o.RetryCount = 0 // it would wait
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ticket, ok := fence.FromContext(r.Context(), keyOf(t, "7"))
		_, leased := distlock.FromContext(r.Context())
		if !ok {
			httpmw.WriteError(w, r, fence.ErrNoTicket)
			return
		}
		if r.URL.Path == "/inside" {
			httpmw.WriteError(w, r, l.Do(r.Context(), keyOf(t, "7"), distlock.Opts{}, func(context.Context) error { return nil }))
			return
		}
		fmt.Fprint(w, ticket.Token(), leased)
	})
	mux := http.NewServeMux()
	mux.Handle("/bare", handler)
	mux.Handle("/inside", handler)
	mux.Handle("/same", httpmw.Lock(l, constant("7"), o)(never(t)))
	mux.Handle("/other", httpmw.Lock(l, constant("8"), o)(handler))
	srv := serve(t, httpmw.ReceiveTickets(boundary)(mux))
	holds := problem(http.StatusConflict, httpmw.TypeReentry, "The caller holds the lock", "")

	lease := testkit.MustAcquire(t, l, keyOf(t, "7"), distlock.Opts{})
	for path, want := range map[string]any{
		"/bare": fmt.Sprint(lease.Token(), false), "/other": fmt.Sprint(lease.Token(), true), "/same": holds, "/inside": holds,
	} {
		got, err := postAs(lease.Context(), t, srv.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := want.(httpmw.Problem); ok {
			wantProblem(t, got, p, "")
		} else if got.status != http.StatusOK || got.body != want {
			t.Errorf("%s: %d %s, want %s", path, got.status, got.body, want)
		}
	}
	got, err := postAs(t.Context(), t, srv.URL+"/bare")
	if err != nil {
		t.Fatal(err)
	}
	wantProblem(t, got, problem(http.StatusForbidden, httpmw.TypeTicket, "The ticket is not acceptable", "the ticket is missing"), "")
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A ticket that is not in order never reaches the handler.
func TestBadTicketsAreRefused(t *testing.T) {
	h := httpmw.ReceiveTickets(boundary)(never(t))
	for _, text := range []string{fmt.Sprintf("dGVh.7.%d.", time.Now().Unix()), "", "tea"} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Add(ticketHeader, text)
		wantProblem(t, record(h, r), problem(http.StatusForbidden, httpmw.TypeTicket, "The ticket is not acceptable",
			"the ticket is malformed, or not signed with the secret of this service"), "")
	}
}

// Tickets go to the host of the request and no other. A lease that is over sends nothing.
func TestTicketsStayWhereTheyBelong(t *testing.T) {
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
	var got []string
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, fmt.Sprint(r.URL.Path, len(r.Header.Values(ticketHeader))))
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	}))
	elsewhere := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1) + "/elsewhere"
	lease := testkit.MustAcquire(t, l, "tea", distlock.Opts{})
	for _, c := range []struct {
		ctx       context.Context
		path, got string
		err       any
	}{
		{t.Context(), "/a", "[/a0]", nil},
		{t.Context(), "/a?to=" + url.QueryEscape(elsewhere), "[/a0 /elsewhere0]", nil},
		{lease.Context(), "/a?to=/b", "[/a1 /b1]", nil},
		{lease.Context(), "/a?to=" + url.QueryEscape(elsewhere), "[/a1]", new(*fence.TicketError)},
	} {
		got = nil
		_, err := postAs(c.ctx, t, srv.URL+c.path)
		if fmt.Sprint(got) != c.got || (err != nil) != (c.err != nil) || err != nil && !errors.As(err, c.err) {
			t.Errorf("%s: the server got %v, want %s: %v", c.path, got, c.got, err)
		}
	}
	secure := strings.Replace(srv.URL, "http", "https", 1)
	for to, refused := range map[string]bool{srv.URL: true, secure: false} {
		r := httptest.NewRequestWithContext(lease.Context(), http.MethodPost, to, nil)
		r.Response = &http.Response{Request: httptest.NewRequest(http.MethodPost, secure, nil)}
		_, err := httpmw.SendTickets(nil, boundary).RoundTrip(r) //nolint:bodyclose // there is none
		if errors.As(err, new(*fence.TicketError)) != refused {
			t.Errorf("a redirect from %s to %s: %v", secure, to, err)
		}
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	got = nil
	if _, err := postAs(context.WithoutCancel(lease.Context()), t, srv.URL+"/a"); !errors.Is(err, distlock.ErrLost) || got != nil {
		t.Errorf("a lease that is over: the server got %v: %v", got, err)
	}
	testkit.WantPanic(t, "httpmw: SendTickets: nil Boundary: choose fence.Signed or fence.Unsigned", func() { httpmw.SendTickets(nil, nil) })
	testkit.WantPanic(t, "httpmw: ReceiveTickets: nil Boundary: choose fence.Signed or fence.Unsigned", func() { httpmw.ReceiveTickets(nil) })
}
