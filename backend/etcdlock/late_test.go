package etcdlock_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
)

// spoiler spoils requests of a client between the client and the network.
type spoiler struct {
	mu     sync.Mutex
	method string // the end of the name of the method to spoil; "" if there is none
	left   int    // requests to spoil
	late   bool   // keep the request for send; otherwise send it, and lose the answer
	kept   []func() error
	hold   chan struct{} // not nil: send the request when it is closed, and return the answer
	before func(n int, method string) (silent bool)
	n      int // of requests since before was set
}

// each calls f before each request from now on, with its number, which begins with 1,
// and the name of its method. If f returns true, the request has no answer and is not
// sent.
func (s *spoiler) each(f func(n int, method string) (silent bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.n = f, 0
}

func (s *spoiler) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	s.mu.Lock()
	s.n++
	n, before := s.n, s.before
	s.mu.Unlock()
	if before != nil && before(n, method[strings.LastIndexByte(method, '/')+1:]) {
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	s.mu.Lock()
	spoil, late := s.method != "" && strings.HasSuffix(method, s.method), s.late
	if hold := s.hold; spoil && hold != nil {
		s.method, s.hold = "", nil
		s.mu.Unlock()
		<-hold
		return invoke(context.WithoutCancel(ctx), method, req, reply, cc, opts...)
	}
	if spoil {
		if s.left--; s.left == 0 {
			s.method = ""
		}
		if late {
			s.kept = append(s.kept, func() error { return invoke(context.WithoutCancel(ctx), method, req, reply, cc, opts...) })
		}
	}
	s.mu.Unlock()
	if spoil && late {
		return status.Error(codes.Unavailable, "spoiled: late")
	}
	if err := invoke(ctx, method, req, reply, cc, opts...); err != nil || !spoil {
		return err
	}
	return status.Error(codes.Unavailable, "spoiled: lost")
}

// spoilNext spoils the next request of a method, and its repetition.
func (s *spoiler) spoilNext(method string, late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.method, s.late, s.left = "/"+method, late, 2
}

// holdNext keeps the next request of a method until release is called. Its caller
// waits.
func (s *spoiler) holdNext(method string) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hold := make(chan struct{})
	s.method, s.hold = "/"+method, hold
	return sync.OnceFunc(func() { close(hold) })
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
var attempts = map[string]func(b *etcdlock.Backend, r driver.Request) (driver.Grant, error){
	"TryAcquire": func(b *etcdlock.Backend, r driver.Request) (driver.Grant, error) {
		return b.TryAcquire(context.Background(), r)
	},
	"Enqueue": func(b *etcdlock.Backend, r driver.Request) (driver.Grant, error) {
		return b.Enqueue(context.Background(), r)
	},
}
