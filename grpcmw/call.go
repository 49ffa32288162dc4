package grpcmw

import (
	"context"
	"errors"
	"log/slog"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/request"
	"github.com/distlock-go/distlock/wiring"
)

// call is a checked rule.
type call struct {
	method string
	key    Key
	site   *wiring.Site

	// input is set for streams with a single request, which is received before the lock
	// is taken.
	input protoreflect.MessageType
}

// fit checks that the key can be made for the method, if it is known, and that the
// interceptor, which is for streams or for unary methods, sees the method.
func (c *call) fit(desc protoreflect.MethodDescriptor, forStreams bool) error {
	switch {
	case desc == nil:
		return nil
	case streams(desc) && !forStreams:
		return errors.New("the method streams: its rule belongs to StreamServerInterceptor")
	case !streams(desc) && forStreams:
		return errors.New("the method does not stream: its rule belongs to UnaryServerInterceptor")
	case desc.IsStreamingClient():
		return c.key.check(nil)
	}
	if forStreams {
		c.input = messageType(desc.Input())
	}
	return c.key.check(desc.Input())
}

// late is what the operator is told of work that a handler leaves behind.
const late = "grpcmw: work asks for its lease after its handler has returned and the lock has ended; " +
	"a goroutine that is left needs distlock.Detach and a lock of its own"

// run runs fn under the lock for req. It returns the result of fn unchanged, unless the lock
// was lost and fn did not choose its answer.
func (m *middleware) run(ctx context.Context, c *call, req any, fn func(context.Context) error) error {
	params, err := request.Params(c.key.params(ctx, c.method, req))
	call := m.door.Enter(func() { slog.Warn(late, "method", c.method) })
	defer call.Done()
	if message, ok := req.(proto.Message); ok && err == nil && params != distlock.Skip {
		err = call.Add(proto.Size(message))
	}
	var fnErr error
	ran, err := call.Do(ctx, c.site, params, err, func(ctx context.Context) { fnErr = fn(ctx) })
	switch {
	case !ran, errors.Is(err, distlock.ErrLost) && !chosen(ctx, fnErr):
		return statusOf(ctx, request.AnswerOf(distlock.Detach(ctx), err), err) // a lock around this one is no work
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
