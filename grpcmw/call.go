package grpcmw

import (
	"context"
	"errors"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/keyenc"
	"github.com/distlock-go/distlock/wiring"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
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

// run runs fn under the lock for req. It returns the result of fn unchanged, unless the lock
// was lost and fn succeeded, or stopped because of that.
func (m *middleware) run(ctx context.Context, c *call, req any, fn func(context.Context) error) error {
	params, err := c.params(ctx, req)
	if err != nil {
		params = keyenc.Fault{Err: err} // the hooks are told, and Do returns err
	}
	var ran bool
	var fnErr error
	err = c.site.Do(ctx, params, func(ctx context.Context) error {
		ran = true
		fnErr = fn(ctx)
		return nil
	})
	switch {
	case !ran:
		if answer := m.fail(ctx, c.method, err); answer != nil {
			return answer
		}
		return StatusError(ctx, err)
	case errors.Is(err, distlock.ErrLost) && (fnErr == nil || stopped(ctx, fnErr)):
		return StatusError(ctx, err)
	default: // what err says comes too late; the hooks have it
		return fnErr
	}
}

// stopped reports whether err, of a handler that has lost its lock, only says so. Its context
// was cancelled, not the caller's: gRPC would answer with Canceled, which some proxies repeat.
func stopped(caller context.Context, err error) bool {
	canceled := errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled
	return canceled && caller.Err() == nil || errors.Is(err, distlock.ErrLost) && !hasStatus(err)
}

// params calls the Key and refuses parameters that are missing, which all calls would
// share.
func (c *call) params(ctx context.Context, req any) (any, error) {
	params, err := c.key.Params(ctx, c.method, req)
	switch {
	case err != nil:
		return nil, err
	case params != distlock.Skip && keyenc.Missing(params):
		return nil, &distlock.KeyError{Detail: "what the request is about is missing"}
	default:
		return params, nil
	}
}
