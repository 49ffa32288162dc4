package grpcmw_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestRefusals(t *testing.T) {
	key := keyOf(t, "7")
	own := status.Error(codes.PermissionDenied, "not yours")
	cases := []struct {
		explanation string
		prepare     func(t *testing.T, s *testkit.Store, l *distlock.Locker)
		key         grpcmw.Key
		opts        func(*distlock.Opts)
		want        want
	}{
		{
			"another process has the lock, for longer than we would",
			func(t *testing.T, s *testkit.Store, _ *distlock.Locker) { t.Helper(); hold(t, s, key) },
			constant("7"), nil, want{busy.code, busy.message, busy.reason, 10 * time.Second},
		},
		{
			"the same, and we would have it for less",
			func(t *testing.T, s *testkit.Store, _ *distlock.Locker) { t.Helper(); hold(t, s, key) },
			constant("7"), func(o *distlock.Opts) { o.KeyTimeout = 2500 * time.Millisecond },
			want{busy.code, busy.message, busy.reason, 2500 * time.Millisecond},
		},
		{
			"a call of this process has it",
			func(t *testing.T, _ *testkit.Store, l *distlock.Locker) {
				t.Helper()
				lease, err := l.Acquire(t.Context(), key, distlock.Opts{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = lease.Release(context.WithoutCancel(t.Context())) })
			},
			constant("7"), nil, busy,
		},
		{
			"the store is down",
			func(_ *testing.T, s *testkit.Store, _ *distlock.Locker) {
				s.Fail(errBroken, testkit.Try, testkit.Enqueue)
			},
			constant("7"), nil, unavailable,
		},
		{"nothing", nil, constant(nil), nil, invalid("what the request is about is missing")},
		{"what has no encoding", nil, constant(func() {}), nil, invalid("invalid request")},
		{"an empty field", nil, messageKey, nil, invalid(`field "response_status.message" is missing`)},
		{"no metadata", nil, grpcmw.Metadata("order"), nil, invalid(`metadata "order" is missing or empty`)},
		{"metadata twice", nil, grpcmw.Metadata("TWICE"), nil, invalid(`metadata "twice" appears more than once`)},
		{
			"a KeyError", nil,
			grpcmw.KeyFunc(func(context.Context, string, any) (any, error) {
				return nil, &distlock.KeyError{Detail: "no tenant", Err: errBroken}
			}),
			nil, invalid("no tenant"),
		},
		{
			"a Key that fails", nil,
			grpcmw.KeyFunc(func(context.Context, string, any) (any, error) { return nil, errBroken }),
			nil, internal,
		},
		{
			"a Key with a status of its own", nil,
			grpcmw.KeyFunc(func(context.Context, string, any) (any, error) { return nil, own }),
			nil, want{codes.PermissionDenied, "not yours", "", 0},
		},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			s := testkit.NewStore()
			l := testkit.NewLocker(t, s, distlock.Config{})
			if c.prepare != nil {
				c.prepare(t, s, l)
				defer s.Fail(nil)
			}
			if c.opts == nil {
				c.opts = func(*distlock.Opts) {}
			}
			client := startUnary(t, l, never(t), rules(unaryCall, c.key, c.opts))
			ctx := metadata.AppendToOutgoingContext(t.Context(), "twice", "a", "twice", "b")
			_, err := client.UnaryCall(ctx, &testpb.SimpleRequest{})
			if c.want.reason == "" {
				if st := status.Convert(err); st.Code() != c.want.code || st.Message() != c.want.message {
					t.Errorf("%v", err)
				}
				return
			}
			wantStatus(t, err, c.want)
		})
	}
}

func TestWaitsThatEnd(t *testing.T) {
	for name, c := range map[string]struct {
		deadline time.Duration // 0: none
		cancel   time.Duration // 0: not at all
		acquire  error         // of all attempts
		maxWait  time.Duration
		want     want
	}{
		"at the caller's deadline":                        {time.Minute, 0, nil, 0, deadline},
		"because the caller left":                         {0, time.Minute, nil, 0, canceled},
		"at the caller's deadline, while the store fails": {time.Minute, 0, errBroken, 0, deadline},
		"before they begin":                               {-1, 0, nil, 0, deadline},
		"after MaxWait":                                   {0, 0, nil, time.Minute, want{busy.code, busy.message, busy.reason, distlock.DefaultKeyTimeout}},
		"after MaxWait, while the store fails":            {0, 0, errBroken, time.Minute, unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := testkit.NewStore()
				l := testkit.NewLocker(t, s, distlock.Config{})
				hold(t, s, keyOf(t, "7"))
				s.Fail(c.acquire, testkit.Try, testkit.Enqueue)
				defer s.Fail(nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.deadline != 0 {
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				if c.cancel != 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				i := grpcmw.UnaryServerInterceptor(l, rules(unaryCall, constant("7"), waits, func(o *distlock.Opts) { o.MaxWait = c.maxWait }))
				start := time.Now()
				_, err := direct(ctx, i, unaryCall, message("7"), func(context.Context, any) (any, error) {
					t.Error("the handler ran")
					return nil, nil
				})
				wantStatus(t, err, c.want)
				if ended := ctx.Err(); !errors.Is(err, distlock.ErrNotAcquired) || ended != nil && !errors.Is(err, ended) {
					t.Errorf("err = %v", err)
				}
				if took := time.Since(start); took != time.Minute && c.deadline >= 0 {
					t.Errorf("answered after %v", took)
				}
			})
		})
	}
}

func TestErrorFunc(t *testing.T) {
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{})
	held := hold(t, s, keyOf(t, "7"))
	var calls int
	var answer error
	mine := grpcmw.WithErrorHandler(func(ctx context.Context, method string, err error) error {
		calls++
		e := new(distlock.Error)
		if method != unaryCall || ctx.Err() != nil || !errors.Is(err, distlock.ErrNotAcquired) || !errors.As(err, &e) || e.Key != keyOf(t, "7") {
			t.Errorf("%s: %v", method, err)
		}
		return answer
	})
	client := startUnary(t, l, never(t), rules(unaryCall, messageKey), mine)
	answer = status.Error(codes.FailedPrecondition, "later")
	if _, err := client.UnaryCall(t.Context(), message("7")); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("%v", err)
	}
	answer = nil // must not become a success
	_, err := client.UnaryCall(t.Context(), message("7"))
	wantStatus(t, err, want{busy.code, busy.message, busy.reason, 10 * time.Second})
	if calls != 2 {
		t.Errorf("called %d times", calls)
	}

	// After the handler has run it is not called, also if the lock is lost.
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Memory().Drop(keyOf(t, "7"))
	client = startUnary(t, l, func(ctx context.Context, r *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		steal(ctx, t, s)
		return ok(ctx, r)
	}, rules(unaryCall, messageKey), mine)
	_, err = client.UnaryCall(t.Context(), message("7"))
	wantStatus(t, err, lost)
	if calls != 2 {
		t.Errorf("called %d times", calls)
	}
}

func TestErrorsMatchInTheProcess(t *testing.T) {
	s := testkit.NewStore()
	hold(t, s, keyOf(t, "7"))
	i := grpcmw.UnaryServerInterceptor(testkit.NewLocker(t, s, distlock.Config{}), rules(unaryCall, messageKey))
	_, err := direct(t.Context(), i, unaryCall, message("7"), nil)
	e := new(distlock.Error)
	if !errors.Is(err, distlock.ErrNotAcquired) || !errors.As(err, &e) || e.Key != keyOf(t, "7") {
		t.Errorf("%v", err)
	}
	// Wrapped once more, the error still does not send the key to the client.
	wrapped := fmt.Errorf("outer: %w", err)
	wantStatus(t, wrapped, want{codes.Aborted, "outer: rpc error: code = Aborted desc = busy with another call", grpcmw.ReasonBusy, 10 * time.Second})
}

// TestFaultsOfKeysReachTheHooks: also the errors of a Key, as the ErrorHandler gets them.
func TestFaultsOfKeysReachTheHooks(t *testing.T) {
	own := status.Error(codes.PermissionDenied, "own")
	for name, key := range map[string]grpcmw.Key{
		"missing": grpcmw.Metadata("x"), "nothing": constant(nil), "not to be encoded": constant(func() {}),
		"own": grpcmw.KeyFunc(func(context.Context, string, any) (any, error) { return nil, own }),
	} {
		var told, handled []error
		l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{Hooks: distlock.Hooks{
			Event: testkit.On{
				distlock.Failed: func(_ context.Context, i distlock.Event) { told = append(told, i.Err) },
			}.Event,
		}})
		handler := grpcmw.WithErrorHandler(func(_ context.Context, _ string, err error) error { handled = append(handled, err); return err })
		i := grpcmw.UnaryServerInterceptor(l, rules(unaryCall, key), handler)
		if _, err := direct(t.Context(), i, unaryCall, message("7"), nil); len(told) != 1 || !slices.Equal(told, handled) || err != told[0] { //nolint:errorlint // the same
			t.Errorf("%s: the hook was told %v, the ErrorHandler %v", name, told, handled)
		}
	}
}
