package etcdlock_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
)

// spoiler spoils requests of a client between the client and the network.
type spoiler struct {
	mu     sync.Mutex
	decide func(n int, method string) fate // nil: all are sent
	n      int                             // of requests since decide was set
	kept   []func() error
}

// fate is what happens to a request.
type fate int

const (
	sent    fate = iota
	silent       // it is sent by send, and has no answer
	late         // it fails, and is sent by send
	refused      // the server has no space
)

// each lets decide choose the fate of each request from now on. It gets the number of
// the request, which begins with 1, and the name of its method. It may block.
func (s *spoiler) each(decide func(n int, method string) fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decide, s.n = decide, 0
}

func (s *spoiler) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	s.mu.Lock()
	s.n++
	n, decide, what := s.n, s.decide, sent
	s.mu.Unlock()
	if decide != nil {
		what = decide(n, method[strings.LastIndexByte(method, '/')+1:])
	}
	switch what {
	case silent:
		s.keep(func() error { return invoke(context.WithoutCancel(ctx), method, req, reply, cc, opts...) })
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	case refused:
		return rpctypes.ErrGRPCNoSpace
	case late:
		s.keep(func() error { return invoke(context.WithoutCancel(ctx), method, req, reply, cc, opts...) })
		return status.Error(codes.Unavailable, "spoiled")
	default:
		return invoke(ctx, method, req, reply, cc, opts...)
	}
}

func (s *spoiler) keep(invoke func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, invoke)
}

// postpone keeps the next request, and its repetition, for send if they are of a method.
func (s *spoiler) postpone(method string) {
	s.each(func(n int, m string) fate {
		if m == method && n <= 2 {
			return late
		}
		return sent
	})
}

// hold keeps the next request of a method until release is called. Its caller waits.
func (s *spoiler) hold(method string) (release func()) {
	released, held := make(chan struct{}), new(atomic.Bool)
	s.each(func(_ int, m string) fate {
		if m == method && held.CompareAndSwap(false, true) {
			<-released
		}
		return sent
	})
	return sync.OnceFunc(func() { close(released) })
}

// send sends the requests that were kept.
func (s *spoiler) send(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) == 0 {
		tb.Fatal("no request was spoiled")
	}
	for _, invoke := range s.kept {
		if err := invoke(); err != nil {
			tb.Fatalf("sending a request late: %v", err)
		}
	}
	s.kept = nil
}

// attempts are the calls that ask for a key.
var attempts = map[string]func(ctx context.Context, b *etcdlock.Backend, r driver.Request) (driver.Grant, error){
	"TryAcquire": func(ctx context.Context, b *etcdlock.Backend, r driver.Request) (driver.Grant, error) {
		return b.TryAcquire(ctx, r)
	},
	"Enqueue": func(ctx context.Context, b *etcdlock.Backend, r driver.Request) (driver.Grant, error) {
		return b.Enqueue(ctx, r)
	},
}
