package grpcmw_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

const (
	unaryCall    = testpb.TestService_UnaryCall_FullMethodName
	serverStream = testpb.TestService_StreamingOutputCall_FullMethodName
	duplex       = testpb.TestService_FullDuplexCall_FullMethodName
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// errBroken is the error of a store that fails. Clients must not see it.
var errBroken = errors.New("dial tcp 10.1.2.3:6379: refused")

// errForeign is the error of a store in which another library has the lock.
var errForeign = fmt.Errorf("10.1.2.3:6379: %w: a hash", distlock.ErrForeign)

// lose has the lease in ctx found lost.
func lose(ctx context.Context, t *testing.T, s *testkit.Store) {
	t.Helper()
	lease, ok := distlock.FromContext(ctx)
	if !ok {
		t.Error("no lease")
		return
	}
	s.Memory().Drop(lease.Key())
	if err := lease.Refresh(ctx); !errors.Is(err, distlock.ErrLost) {
		t.Errorf("Refresh: %v", err)
		return
	}
	<-ctx.Done()
}

// steal gives the key of message("7") to another owner.
func steal(_ context.Context, t *testing.T, s *testkit.Store) {
	t.Helper()
	s.Steal(t, keyOf(t, "7"))
}

// hold takes a key as another process would, for an hour.
func hold(t *testing.T, s *testkit.Store, key string) *distlock.Lease {
	t.Helper()
	other := testkit.NewLocker(t, s.Backend, distlock.Config{Holder: "web-3/1432"})
	lease := testkit.MustAcquire(t, other, key, distlock.Opts{KeyTimeout: time.Hour})
	t.Cleanup(func() { _ = lease.Release(context.WithoutCancel(t.Context())) }) // released already, or lost on purpose
	return lease
}

// opts returns the options of most tests: one attempt, no wait.
func opts() distlock.Opts {
	return distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1}
}

// rules locks one method by key.
func rules(method string, key grpcmw.Key, change ...func(*distlock.Opts)) grpcmw.Rules {
	o := opts()
	for _, f := range change {
		f(&o)
	}
	return grpcmw.ByMethod(map[string]grpcmw.Rule{method: {Key: key, Opts: o}})
}

func waits(o *distlock.Opts) { o.RetryCount = 0 }

// keyOf is the key that Wrap gives to params.
func keyOf(t *testing.T, params any) string {
	t.Helper()
	o := opts()
	o.ParamLock = true
	key, err := wiring.Key(o, params)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func constant(v any) grpcmw.Key {
	return grpcmw.KeyFunc(func(context.Context, string, any) (any, error) { return v, nil })
}

// service is a TestService of functions.
type service struct {
	testpb.UnimplementedTestServiceServer
	unary  func(context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error)
	output func(*testpb.StreamingOutputCallRequest, grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse]) error
	input  func(grpc.ClientStreamingServer[testpb.StreamingInputCallRequest, testpb.StreamingInputCallResponse]) error
	duplex func(grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error
}

func (s *service) UnaryCall(ctx context.Context, r *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	return s.unary(ctx, r)
}

func (s *service) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	return &testpb.Empty{}, nil
}

func (s *service) StreamingOutputCall(r *testpb.StreamingOutputCallRequest, ss grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse]) error {
	return s.output(r, ss)
}

func (s *service) StreamingInputCall(ss grpc.ClientStreamingServer[testpb.StreamingInputCallRequest, testpb.StreamingInputCallResponse]) error {
	return s.input(ss)
}

func (s *service) FullDuplexCall(ss grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
	return s.duplex(ss)
}

// network is where a server listens.
type network func(t testing.TB) (net.Listener, []grpc.DialOption, string)

func tcp(t testing.TB) (net.Listener, []grpc.DialOption, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l, nil, "passthrough:///" + l.Addr().String()
}

func memory(testing.TB) (net.Listener, []grpc.DialOption, string) {
	l := bufconn.Listen(64 << 10)
	dial := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) })
	return l, []grpc.DialOption{dial}, "passthrough:///memory"
}

// start serves svc and returns a client.
func start(t testing.TB, where network, svc *service, server []grpc.ServerOption, client ...grpc.DialOption) testpb.TestServiceClient {
	t.Helper()
	srv := grpc.NewServer(server...)
	testpb.RegisterTestServiceServer(srv, svc)
	listener, dial, target := where(t)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	dial = append(dial, grpc.WithTransportCredentials(insecure.NewCredentials()))
	cc, err := grpc.NewClient(target, append(dial, client...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cc.Close()
		srv.Stop()
		// A test may end before Serve has begun. Then Stop came first, and Serve
		// says so: nothing is wrong with that.
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("Serve: %v", err)
		}
	})
	return testpb.NewTestServiceClient(cc)
}

// message is a request that is about the string s.
func message(s string) *testpb.SimpleRequest {
	return &testpb.SimpleRequest{ResponseStatus: &testpb.EchoStatus{Message: s}}
}

var messageKey = grpcmw.Fields("response_status.message")

// want is an exact status.
type want struct {
	code    codes.Code
	message string
	reason  string
	retry   time.Duration
}

func invalid(detail string) want {
	return want{codes.InvalidArgument, detail, grpcmw.ReasonKey, 0}
}

var (
	busy        = want{codes.Aborted, "busy with another call", grpcmw.ReasonBusy, distlock.DefaultRetryInterval}
	queueFull   = want{codes.ResourceExhausted, "too many calls are waiting", grpcmw.ReasonQueueFull, distlock.DefaultRetryInterval}
	unavailable = want{codes.Unavailable, "locks are temporarily unavailable", grpcmw.ReasonUnavailable, distlock.DefaultRetryInterval}
	lost        = want{codes.FailedPrecondition, "the lock was lost: the outcome is in doubt", grpcmw.ReasonLost, 0}
	canceled    = want{codes.Canceled, "ended before the lock was got", grpcmw.ReasonBusy, 0}
	internal    = want{codes.Internal, "internal error", grpcmw.ReasonInternal, 0}
)

func wantStatus(t *testing.T, err error, w want) {
	t.Helper()
	st, ok := status.FromError(err)
	if !ok || st.Code() != w.code || st.Message() != w.message {
		t.Errorf("status %v %q, want %v %q", st.Code(), st.Message(), w.code, w.message)
	}
	var info *errdetails.ErrorInfo
	var retry *errdetails.RetryInfo
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			info = d
		case *errdetails.RetryInfo:
			retry = d
		default:
			t.Errorf("a %T", d)
		}
	}
	if info.GetReason() != w.reason || info.GetDomain() != grpcmw.ErrorDomain || len(info.GetMetadata()) != 0 {
		t.Errorf("ErrorInfo %v, want %s", info, w.reason)
	}
	if d := retry.GetRetryDelay().AsDuration(); (retry != nil) != (w.retry > 0) || d != w.retry {
		t.Errorf("RetryInfo %v, want %v", retry, w.retry)
	}
	for _, secret := range []string{"shop:", "10.1.2.3", "refused", "hash", "distlock: ", "free?", "thief", "web-3", "1432"} {
		if strings.Contains(st.Proto().String(), secret) {
			t.Errorf("the status shows %q: %v", secret, st)
		}
	}
}
