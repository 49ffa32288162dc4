package grpcmw_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

type unaryFunc = func(context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error)

func ok(context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	return &testpb.SimpleResponse{Username: "done"}, nil
}

func never(t *testing.T) unaryFunc {
	t.Helper()
	return func(context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		t.Error("the handler ran")
		return &testpb.SimpleResponse{}, nil
	}
}

// startUnary serves h under a lock by key.
func startUnary(t testing.TB, l *distlock.Locker, h unaryFunc, r grpcmw.Rules) testpb.TestServiceClient {
	t.Helper()
	return start(t, memory, &service{unary: h}, []grpc.ServerOption{
		grpc.UnaryInterceptor(grpcmw.UnaryServerInterceptor(l, r)),
	})
}

// direct calls the interceptor without a network.
func direct(ctx context.Context, i grpc.UnaryServerInterceptor, method string, req any, h grpc.UnaryHandler) (any, error) {
	return i(ctx, req, &grpc.UnaryServerInfo{FullMethod: method}, h)
}

func TestMethodsWithoutARuleAndSkipRunWithoutALock(t *testing.T) {
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{})
	h := func(ctx context.Context, r *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		if _, locked := distlock.FromContext(ctx); locked {
			t.Error("there is a lease")
		}
		return ok(ctx, r)
	}
	client := startUnary(t, l, h, rules(unaryCall, grpcmw.Params(constant(distlock.Skip), messageKey)))
	if _, err := client.EmptyCall(t.Context(), &testpb.Empty{}); err != nil {
		t.Error(err)
	}
	if _, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{}); err != nil {
		t.Error(err)
	}
	client = startUnary(t, l, h, grpcmw.Rules{})
	if _, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{}); err != nil {
		t.Error(err)
	}
	if len(s.Attempts()) != 0 {
		t.Errorf("keys %q", s.Attempts())
	}
}

// TestWorkThatGoesOnAfterTheHandler: it is logged once that work has no lock any more.
func TestWorkThatGoesOnAfterTheHandler(t *testing.T) {
	var out bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
	i := grpcmw.UnaryServerInterceptor(l, rules(unaryCall, messageKey))
	for n, want := range []int{0, 1, 1} {
		var left context.Context
		ctx, end := context.WithCancel(t.Context())
		if _, err := direct(ctx, i, unaryCall, message("7"), func(ctx context.Context, _ any) (any, error) {
			distlock.FromContext(ctx)
			left = ctx //nolint:fatcontext // what is left behind
			return ok(ctx, nil)
		}); err != nil {
			t.Fatal(err)
		}
		end()
		if distlock.FromContext(distlock.Detach(left)); n > 0 {
			distlock.FromContext(left)
		}
		if got := strings.Count(out.String(), "work asks for its lease after its handler has returned"); got != want || want > 0 && !strings.Contains(out.String(), "method="+unaryCall) {
			t.Errorf("call %d: %s", n, &out)
		}
	}
}

// TestMessagesThatWait: the bytes of the messages that wait are limited, and those of a call that
// runs or has ended do not count.
func TestMessagesThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
		i := grpcmw.UnaryServerInterceptor(l, rules(unaryCall, messageKey, func(o *distlock.Opts) { o.RetryCount, o.MaxWait = 0, time.Minute }))
		req := message("7")
		req.Payload = &testpb.Payload{Body: make([]byte, 15<<20)}
		held, leave, ended := make(chan bool), make(chan bool), make(chan error, 9)
		call := func() {
			_, err := direct(t.Context(), i, unaryCall, req, func(ctx context.Context, _ any) (any, error) {
				held <- true
				<-leave
				return ok(ctx, nil)
			})
			ended <- err
		}
		for round := range 2 {
			go call()
			<-held
			for range 5 {
				go call()
				synctest.Wait()
			}
			if len(ended) > 0 {
				t.Fatalf("round %d: five messages: %v", round, <-ended)
			}
			call()
			wantStatus(t, <-ended, queueFull)
			for range 5 {
				wantStatus(t, <-ended, busy)
			}
			leave <- true
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestLosses: a call that has lost its lock is in doubt, unless the handler says what is wrong
// with the call. A fault of the server would be repeated by proxies.
func TestLosses(t *testing.T) {
	fine := func(context.Context, *testing.T, *testkit.Store) {}
	type row struct {
		explanation string
		happen      func(ctx context.Context, t *testing.T, s *testkit.Store)
		answer      func(ctx context.Context) error
		want        want // reason "": not ours
	}
	rows := []row{
		{"lost, then a success", lose, nil, lost},
		{"found by the release", steal, nil, lost},
		{"lost, then the context's error", lose, context.Context.Err, lost},
		{"lost, then that of Check", lose, func(ctx context.Context) error {
			lease, _ := distlock.FromContext(ctx)
			return fmt.Errorf("pay: %w", lease.Check())
		}, lost},
		{"cancelled, but not lost", fine, func(context.Context) error { return context.Canceled }, want{codes.Canceled, "context canceled", "", 0}},
		{"cannot be given back", func(_ context.Context, _ *testing.T, s *testkit.Store) { s.Fail(errBroken, testkit.Release) }, nil, want{}},
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		end := want{code, "no", "", 0}
		switch code { // the others are chosen
		case codes.Canceled, codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss:
			end = lost
		}
		rows = append(rows, row{"lost, then " + code.String(), lose, func(context.Context) error { return status.Error(code, "no") }, end})
	}
	for _, c := range rows {
		t.Run(c.explanation, func(t *testing.T) {
			s := testkit.NewStore()
			client := startUnary(t, testkit.NewLocker(t, s, distlock.Config{}), func(ctx context.Context, r *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
				c.happen(ctx, t, s)
				if c.answer != nil {
					return nil, c.answer(ctx)
				}
				return ok(ctx, r)
			}, rules(unaryCall, messageKey))
			resp, err := client.UnaryCall(t.Context(), message("7"))
			s.Fail(nil)
			switch {
			case c.want.reason != "":
				wantStatus(t, err, c.want)
			case status.Code(err) != c.want.code || status.Convert(err).Message() != c.want.message:
				t.Errorf("%v, %v", resp, err)
			case err == nil && resp.Username != "done":
				t.Errorf("%v", resp)
			}
		})
	}
}

// If the caller has left, too, a handler that says so has the last word: nobody repeats the call.
func TestLostAndTheCallerHasLeft(t *testing.T) {
	for _, answer := range []error{context.Canceled, status.Error(codes.Canceled, "left")} {
		s := testkit.NewStore()
		ctx, leave := context.WithCancel(t.Context())
		in := grpcmw.UnaryServerInterceptor(testkit.NewLocker(t, s, distlock.Config{}), rules(unaryCall, messageKey))
		_, err := in(ctx, message("7"), &grpc.UnaryServerInfo{FullMethod: unaryCall}, func(ctx context.Context, _ any) (any, error) {
			lose(ctx, t, s)
			leave()
			return nil, answer
		})
		if err != answer { //nolint:errorlint // the very error
			t.Errorf("%v, want %v", err, answer)
		}
	}
}
