package grpcmw

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/request"
)

// middleware is what all interceptors share.
type middleware struct {
	calls map[string]*call
	door  request.Door
}

// wire makes the rules into a middleware and panics with all errors in them.
func wire(name string, l *distlock.Locker, rules Rules, forStreams bool) *middleware {
	if l == nil {
		panic("grpcmw: " + name + ": nil Locker")
	}
	m := &middleware{calls: make(map[string]*call, len(rules.byMethod))}
	var errs []error
	for _, method := range slices.Sorted(maps.Keys(rules.byMethod)) {
		c, err := newCall(l, method, rules.byMethod[method], forStreams)
		if err != nil {
			errs = append(errs, fmt.Errorf("rule for %q: %w", method, err))
		}
		m.calls[method] = c
	}
	if err := errors.Join(errs...); err != nil {
		panic("grpcmw: " + name + ": " + err.Error())
	}
	return m
}

// run runs fn under the lock for req. It returns the result of fn unchanged, unless the lock
// was lost and fn did not choose its answer.
func (m *middleware) run(ctx context.Context, c *call, req any, fn func(context.Context) error) error {
	params, err := request.Params(c.key.params(ctx, c.method, req))
	call := m.door.Enter(func() {
		slog.Warn("grpcmw: work asks for its lease after its handler has returned and the lock has ended; "+
			"a goroutine that is left needs distlock.Detach and a lock of its own", "method", c.method)
	})
	defer call.Done()
	if message, ok := req.(proto.Message); ok && err == nil && params != distlock.Skip {
		err = call.Add(proto.Size(message))
	}
	var fnErr error
	ran, err := call.Do(ctx, c.site, params, err, func(ctx context.Context) { fnErr = fn(ctx) })
	switch {
	case !ran, errors.Is(err, distlock.ErrLost) && !chosen(ctx, fnErr):
		return statusOf(ctx, request.AnswerOf(distlock.Detach(ctx), err), err) // an outer lock alone is no work done
	default: // what err says comes too late; the hooks have it
		return fnErr
	}
}

// chosen reports whether a handler that has lost its lock answers what is wrong with the call.
// A success is not such an answer, and neither is a fault of the server, which clients and
// proxies repeat. If the caller has left, an error that says so is its own.
func chosen(caller context.Context, err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.Unauthenticated,
		codes.FailedPrecondition, codes.OutOfRange, codes.Aborted, codes.ResourceExhausted:
		return true
	case codes.Canceled, codes.DeadlineExceeded:
		return caller.Err() != nil
	default:
		return caller.Err() != nil && errors.Is(err, caller.Err())
	}
}
