package grpcmw_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// TestMaxWait limits the wait of a call, and neither its context nor its handler.
func TestMaxWait(t *testing.T) {
	const maxWait, work = 3 * time.Second, 10 * time.Second
	locks := rules(unaryCall, messageKey, waits, func(o *distlock.Opts) { o.MaxWait = maxWait })
	for name, c := range map[string]struct {
		acquire error         // of all attempts
		release time.Duration // the holder releases; 0: not at all
		want    want
	}{
		"busy":        {nil, 0, want{busy.code, busy.message, busy.reason, distlock.DefaultKeyTimeout}},
		"unavailable": {errBroken, 0, unavailable},
		"served":      {nil, 2 * time.Second, want{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := testkit.NewStore()
				l := testkit.NewLocker(t, s, distlock.Config{})
				held := hold(t, s, keyOf(t, "7"))
				s.Fail(c.acquire, testkit.Try, testkit.Wait)
				defer s.Fail(nil)
				if c.release > 0 {
					time.AfterFunc(c.release, func() {
						if err := held.Release(held.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				client := start(t, memory, &service{unary: func(ctx context.Context, r *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
					if c.release == 0 {
						t.Error("the handler ran")
					}
					select {
					case <-ctx.Done():
						t.Errorf("the handler was ended: %v", context.Cause(ctx))
					case <-time.After(work):
					}
					if end, ok := ctx.Deadline(); ok {
						t.Errorf("the handler has a deadline: %v", end)
					}
					return ok(ctx, r)
				}}, []grpc.ServerOption{grpc.ChainUnaryInterceptor(grpcmw.UnaryServerInterceptor(l, locks))})
				begin := time.Now()
				_, err := client.UnaryCall(t.Context(), message("7"))
				took := time.Since(begin)
				if c.release > 0 {
					if err != nil || took != c.release+work {
						t.Errorf("after %v: %v", took, err)
					}
					return
				}
				wantStatus(t, err, c.want)
				if took != maxWait {
					t.Errorf("answered after %v, want %v", took, maxWait)
				}
			})
		})
	}
}
