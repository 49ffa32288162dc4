package test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// event is what may happen to a call, whichever way the function comes under its lock.
type event struct {
	what   string
	opts   distlock.Opts
	before func(ctx context.Context, t *testing.T, l *distlock.Locker, s *testkit.Store) context.Context
	during func(ctx context.Context, t *testing.T, l *distlock.Locker, s *testkit.Store) error

	code distlock.Code
	ran  bool
	lead distlock.Code // of Lead, which goes on where it can, until its context ends
	led  bool
	only []string // the ways that it can happen to; none: all
	exit string   // of distlock run, whose tests are in cmd/distlock
}

var errDeclined = errors.New("card declined")

var eventsOfCalls = []event{
	{what: "busy: another holder has the lock", opts: distlock.Opts{MaxWait: time.Second}, before: busyKey,
		code: distlock.CodeNotAcquired, lead: distlock.CodeNotAcquired, exit: "1, or `-E`"},
	{what: "too many wait in this process", before: crowdedKey, code: distlock.CodeQueueFull, lead: distlock.CodeQueueFull, exit: "–"},
	{what: "the store failed before the function ran", opts: distlock.Opts{RetryCount: 1}, before: brokenStore,
		code: distlock.CodeUnavailable, lead: distlock.CodeUnavailable, exit: "69"},
	{what: "this process shuts down", before: closedLocker, code: distlock.CodeClosed, lead: distlock.CodeClosed, exit: "–"},
	{what: "the caller's own context ended the wait", before: leavingCaller, code: distlock.CodeNotAcquired, lead: distlock.CodeNotAcquired, exit: "128+n"},
	{what: "the function failed", during: func(context.Context, *testing.T, *distlock.Locker, *testkit.Store) error { return errDeclined },
		code: distlock.CodeOther, ran: true, lead: distlock.CodeOther, led: true, exit: "its own"},
	{what: "the function succeeded, and the release failed", during: func(_ context.Context, _ *testing.T, _ *distlock.Locker, s *testkit.Store) error {
		s.Fail(testkit.ErrBroken, testkit.Release)
		return nil
	}, code: distlock.CodeOK, ran: true, lead: distlock.CodeOther, led: true, exit: "0"},
	{what: "the function was refused another lock, and said so", during: func(ctx context.Context, t *testing.T, l *distlock.Locker, s *testkit.Store) error {
		t.Helper()
		s.Steal(t, "below")
		return l.Do(ctx, "below", distlock.Opts{RetryCount: 1}, ran)
	}, code: distlock.CodeNotAcquired, ran: true, lead: distlock.CodeNotAcquired, led: true, exit: "its own"},
	{what: "**the lock was lost before**, by a caller that runs under it", before: lostCaller, code: distlock.CodeLost, lead: distlock.CodeLost, exit: "–"},
	{what: "**the lock was lost while the function ran**", during: lostMeanwhile, code: distlock.CodeLost, ran: true, lead: distlock.CodeNotAcquired, led: true, exit: "70"},
	{what: "the same, and the function returned the error of `Check`", during: func(ctx context.Context, t *testing.T, l *distlock.Locker, s *testkit.Store) error {
		t.Helper()
		lease, _ := distlock.Held(ctx, "k")
		_ = lostMeanwhile(ctx, t, l, s)
		return fmt.Errorf("pay: %w", lease.Check())
	}, code: distlock.CodeLost, ran: true, lead: distlock.CodeNotAcquired, led: true, exit: "70"},
	{what: "**the release found that the lock was lost**", during: func(_ context.Context, t *testing.T, _ *distlock.Locker, s *testkit.Store) error {
		t.Helper()
		s.Steal(t, "k")
		return nil
	}, code: distlock.CodeLost, ran: true, lead: distlock.CodeNotAcquired, led: true, exit: "70"},
	{what: "the key is refused", opts: distlock.Opts{Prefix: strings.Repeat("x", 10_000)}, only: []string{"Do", "Call", "DoAll", "Lead"},
		code: distlock.CodeKey, lead: distlock.CodeKey, exit: "64"},
	{what: "the program is wrong: options", opts: distlock.Opts{ParamLock: true}, only: []string{"Do", "Call", "DoAll", "Lead"},
		code: distlock.CodeOptions, lead: distlock.CodeOptions, exit: "64"},
	{what: "the caller has the key, says its ticket", before: ticketed, code: distlock.CodeReentry, lead: distlock.CodeReentry, exit: "–"},
	{what: "the data refuse: `fence.ErrStale`", during: func(context.Context, *testing.T, *distlock.Locker, *testkit.Store) error {
		return fmt.Errorf("pay: %w", fence.ErrStale)
	}, code: distlock.CodeOther, ran: true, lead: distlock.CodeOther, led: true, exit: "its own"},
	{what: "the program is wrong: a reader asks for more", before: reader, code: distlock.CodeUpgrade, lead: distlock.CodeUpgrade, exit: "–"},
}

func busyKey(ctx context.Context, t *testing.T, _ *distlock.Locker, s *testkit.Store) context.Context {
	t.Helper()
	t.Cleanup(other(t, s, "k"))
	return ctx
}

func crowdedKey(ctx context.Context, t *testing.T, l *distlock.Locker, _ *testkit.Store) context.Context {
	t.Helper()
	testkit.MustAcquire(t, l, "k", distlock.Opts{})
	waiter := testkit.StartAcquire(t, l, "k", distlock.Opts{})
	t.Cleanup(waiter.Cancel)
	synctest.Wait()
	return ctx
}

func brokenStore(ctx context.Context, _ *testing.T, _ *distlock.Locker, s *testkit.Store) context.Context {
	s.Fail(testkit.ErrBroken, testkit.Try, testkit.Enqueue)
	return ctx
}

func closedLocker(ctx context.Context, t *testing.T, l *distlock.Locker, _ *testkit.Store) context.Context {
	t.Helper()
	wantIs(t, l.Close())
	return ctx
}

func leavingCaller(ctx context.Context, t *testing.T, _ *distlock.Locker, s *testkit.Store) context.Context {
	t.Helper()
	t.Cleanup(other(t, s, "k"))
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	t.Cleanup(cancel)
	return ctx
}

func lostCaller(_ context.Context, t *testing.T, l *distlock.Locker, s *testkit.Store) context.Context {
	t.Helper()
	lease := testkit.MustAcquire(t, l, "k", distlock.Opts{})
	mustLose(t, s, lease)
	return context.WithoutCancel(lease.Context())
}

func reader(_ context.Context, t *testing.T, l *distlock.Locker, _ *testkit.Store) context.Context {
	t.Helper()
	return testkit.MustAcquire(t, l, "k", reading).Context()
}

func ticketed(ctx context.Context, t *testing.T, l *distlock.Locker, _ *testkit.Store) context.Context {
	t.Helper()
	texts, err := fence.Unsigned.Tickets(testkit.MustAcquire(t, l, "k", distlock.Opts{}).Context())
	wantIs(t, err)
	ctx, err = fence.Unsigned.Context(ctx, texts)
	wantIs(t, err)
	return ctx
}

func lostMeanwhile(ctx context.Context, t *testing.T, _ *distlock.Locker, s *testkit.Store) error {
	t.Helper()
	lease, _ := distlock.Held(ctx, "k")
	mustLose(t, s, lease)
	return nil
}

func step(ctx context.Context, l *distlock.Locker, o distlock.Opts, fn func(context.Context) error) error {
	lease, _ := distlock.FromContext(ctx)
	if lease == nil {
		var err error
		if lease, err = l.Acquire(ctx, "k", o); err != nil {
			return err
		}
		defer func() { _ = lease.Release(ctx) }()
	}
	return lease.Step(ctx, distlock.Step{Do: fn})
}

// outcome is what a call ends with, and what is made of its error.
type outcome struct {
	code, ran, http, grpc string
	repeat                bool
}

func outcomeOf(ctx context.Context, err error) outcome {
	o := outcome{code: "`" + distlock.CodeOf(err).String() + "`", ran: "no"}
	if distlock.Ran(err) {
		o.ran = "yes"
	}
	if err == nil {
		o.http, o.grpc = "its own", "its own"
		return o
	}
	w := httptest.NewRecorder()
	httpmw.WriteError(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil), err)
	o.http, o.grpc = answerOf(w), statusOf(grpcmw.StatusError(ctx, err))
	o.repeat = strings.Contains(o.http, "Retry-After") || strings.Contains(o.grpc, "RetryInfo")
	return o
}

func answerOf(w *httptest.ResponseRecorder) string {
	if w.Header().Get("Retry-After") != "" {
		return fmt.Sprint(w.Code, ", `Retry-After`")
	}
	return fmt.Sprint(w.Code)
}

func statusOf(err error) string {
	st := status.Convert(err)
	if slices.ContainsFunc(st.Details(), func(d any) bool { _, ok := d.(*errdetails.RetryInfo); return ok }) {
		return st.Code().String() + ", `RetryInfo`"
	}
	return st.Code().String()
}

// Whichever way a function comes under its lock, the same event has the same error, and the
// error says whether the function ran. What ran is never called repeatable. The page of
// operators has the table.
func TestOutcomes(t *testing.T) {
	ways := maps.Clone(ways)
	delete(ways, "Acquire")
	ways["Lead"], ways["Step"] = lead, step
	table := []string{"| what happened | `CodeOf` | it ran: `Ran` | HTTP | gRPC | `distlock run` | may be repeated |", "|---|---|---|---|---|---|---|"}
	for _, e := range eventsOfCalls {
		var row outcome
		for name, run := range ways {
			released := strings.HasPrefix(e.what, "**the release")
			if e.only != nil && !slices.Contains(e.only, name) || name == "Step" && (released || e.code == distlock.CodeUpgrade) {
				continue // Step ends before the release, and needs a lease
			}
			testkit.InBubble(t, e.what+"/"+name, func(t *testing.T) {
				called, ctx, err := e.happen(t, run)
				code, ran := e.code, e.ran
				if name == "Lead" {
					code, ran = e.lead, e.led
				}
				got := outcomeOf(ctx, err)
				if distlock.CodeOf(err) != code || distlock.Ran(err) != ran || called != ran {
					t.Errorf("%v: %v, ran %v and %v; want %v, %v", err, distlock.CodeOf(err), distlock.Ran(err), called, code, ran)
				}
				if got.repeat && called {
					t.Errorf("called repeatable: %+v", got)
				}
				if err != nil && strings.Count(err.Error(), "lock lost") > 1 {
					t.Errorf("the loss is said twice: %v", err)
				}
				if name == "Lead" {
					return
				}
				if row == (outcome{}) {
					row = got
				}
				if got != row {
					t.Errorf("%+v, but another way has %+v", got, row)
				}
			})
		}
		repeat := map[bool]string{true: "yes", false: "**no**"}[row.repeat || row.ran == "no" && e.what == "the caller's own context ended the wait"]
		table = append(table, fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |", e.what, row.code, row.ran, row.http, row.grpc, e.exit, repeat))
		e.middlewares(t, row)
	}
	page, err := os.ReadFile("../../../docs/operations.md")
	wantIs(t, err)
	if want := strings.Join(table, "\n") + "\n"; !strings.Contains(string(page), want) {
		t.Errorf("docs/operations.md should have this table:\n%s", want)
	}
}

// happen lets e happen to a call. It returns whether the function was called.
func (e *event) happen(t *testing.T, run way) (called bool, ctx context.Context, err error) {
	t.Helper()
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{MaxWaiters: 1})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // Lead ends
	t.Cleanup(cancel)
	if e.before != nil {
		ctx = e.before(ctx, t, l, s)
		ctx, cancel = context.WithTimeout(ctx, 10*time.Second)
		t.Cleanup(cancel)
	}
	err = run(ctx, l, e.opts, func(fnCtx context.Context) error {
		if called {
			<-fnCtx.Done() // a second term
			return nil
		}
		called = true
		if e.during == nil {
			return nil
		}
		return e.during(fnCtx, t, l, s)
	})
	s.Fail(nil)
	return called, ctx, err
}

// middlewares checks that a route and a method answer e as the table says, unless the answer
// is the handler's own.
func (e *event) middlewares(t *testing.T, row outcome) {
	t.Helper()
	if e.only != nil || row.http == "its own" {
		return
	}
	testkit.InBubble(t, e.what+"/httpmw", func(t *testing.T) {
		w := httptest.NewRecorder()
		_, _, _ = e.happen(t, route(w))
		if got := answerOf(w); got != row.http {
			t.Errorf("%s, want %s", got, row.http)
		}
	})
	testkit.InBubble(t, e.what+"/grpcmw", func(t *testing.T) {
		_, _, err := e.happen(t, method)
		if got := statusOf(err); got != row.grpc {
			t.Errorf("%s, want %s", got, row.grpc)
		}
	})
}

// keyK makes o the options of a middleware that locks the key "k".
func keyK(o distlock.Opts) distlock.Opts {
	o.Value, o.KeyFormat = "k", func(string, any) (string, error) { return "k", nil }
	return o
}

// route has fn as the handler of a route, which answers with w.
func route(w http.ResponseWriter) way {
	return func(ctx context.Context, l *distlock.Locker, o distlock.Opts, fn func(context.Context) error) error {
		key := func(*http.Request) (any, error) { return "k", nil }
		h := httpmw.Lock(l, key, keyK(o))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := fn(r.Context()); err != nil {
				httpmw.WriteError(w, r, err)
			}
		}))
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil))
		return nil
	}
}

// method has fn as the handler of a method of gRPC.
func method(ctx context.Context, l *distlock.Locker, o distlock.Opts, fn func(context.Context) error) error {
	const name = "/grpc.testing.None/Call"
	key := grpcmw.KeyFunc(func(context.Context, string, any) (any, error) { return "k", nil })
	in := grpcmw.UnaryServerInterceptor(l, grpcmw.ByMethod(map[string]grpcmw.Rule{name: {Key: key, Opts: keyK(o)}}))
	_, err := in(ctx, nil, &grpc.UnaryServerInfo{FullMethod: name}, func(ctx context.Context, _ any) (any, error) {
		if err := fn(ctx); err != nil {
			return nil, grpcmw.StatusError(ctx, err)
		}
		return nil, nil
	})
	return err
}
