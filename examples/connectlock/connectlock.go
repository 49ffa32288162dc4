// Package connectlock is an interceptor that runs the handlers of connect-go under locks.
//
//	path, handler := shopv1connect.NewShopHandler(shop, connect.WithInterceptors(
//		connectlock.New(locker, map[string]connectlock.Rule{
//			shopv1connect.ShopPayProcedure: {
//				Key:  connectlock.By(func(r *shopv1.PayRequest) any { return r.GetOrderId() }),
//				Opts: distlock.Opts{Prefix: "shop:", Value: "pay", MaxWait: 3 * time.Second},
//			},
//		})))
//
// # When a lock is needed
//
// If several servers handle calls, and two calls for one order must not overlap. A database
// that checks, with a constraint or in one transaction, needs no lock; the lock is for work
// that it cannot check, such as a call to another service. The same order in a path and in
// a message is one lock with httpmw, grpcmw and this package, if Prefix and Value are the
// same.
//
// # Errors
//
// A call that does not get its lock has the code that grpcmw answers with, with the same
// details: ErrorInfo with the reason, and RetryInfo if nothing was done.
//
//	InvalidArgument    the message does not say what to lock
//	Aborted            another call has the lock, and the wait ended
//	ResourceExhausted  too many calls are waiting
//	Unavailable        the store of the locks failed
//	FailedPrecondition the lock was lost: the outcome is in doubt, so do not repeat the call
//	Canceled           the caller's context ended the wait
//	DeadlineExceeded   its deadline did
//	Internal           anything else
//
// # When the lock is lost
//
// The context of the handler is cancelled, with cause [distlock.ErrLost]. If the handler
// succeeds all the same, or returns the error of its context or of [distlock.Lease.Check], the
// client gets FailedPrecondition, because the outcome is in doubt.
package connectlock

import (
	"context"
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/wiring"
)

// Rule says how the calls of a procedure are locked.
type Rule struct {
	// Key returns the parameters of the key, or [distlock.Skip] if the call needs no lock.
	// A nil or empty parameter is refused. Its error is returned to the client if it is
	// a [*connect.Error] or a [*distlock.KeyError].
	Key func(ctx context.Context, req connect.AnyRequest) (any, error)

	// Opts declare the lock. ParamLock is always on.
	Opts distlock.Opts
}

// By returns a Key that selects the parameters from the message.
func By[M any](selector func(*M) any) func(context.Context, connect.AnyRequest) (any, error) {
	return func(_ context.Context, req connect.AnyRequest) (any, error) {
		m, ok := req.Any().(*M)
		if !ok {
			return nil, errors.New("connectlock: By has a function for another message")
		}
		return selector(m), nil
	}
}

// New returns an interceptor for handlers. The rules are by procedure, such as
// "/shop.v1.Shop/Pay"; procedures without a rule are not locked. A procedure that streams
// is refused if it has a rule, because its messages are not known yet. New panics if a rule
// has no Key or invalid Opts.
func New(l *distlock.Locker, rules map[string]Rule) connect.Interceptor {
	i := interceptor{}
	for procedure, rule := range rules {
		if rule.Key == nil {
			panic("connectlock: New: the rule for " + procedure + " has no Key")
		}
		rule.Opts.ParamLock = true
		i[procedure] = call{rule.Key, wiring.Bind(l, rule.Opts)}
	}
	return i
}

// interceptor has the calls by procedure.
type interceptor map[string]call

// call is a checked rule.
type call struct {
	key  func(context.Context, connect.AnyRequest) (any, error)
	site *wiring.Site
}

// WrapUnary implements [connect.Interceptor].
func (i interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		c, ok := i[req.Spec().Procedure]
		if !ok || req.Spec().IsClient {
			return next(ctx, req)
		}
		return c.run(ctx, req, next)
	}
}

// WrapStreamingClient implements [connect.Interceptor]. It changes nothing.
func (i interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements [connect.Interceptor]. It refuses calls with a rule.
func (i interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		if _, ok := i[conn.Spec().Procedure]; ok {
			return connect.NewError(connect.CodeInternal, errors.New("a procedure that streams has a rule for its lock"))
		}
		return next(ctx, conn)
	}
}

// run runs a handler under its lock. The handler's own error is returned unchanged, unless it
// only says that the lock was lost.
func (c call) run(ctx context.Context, req connect.AnyRequest, next connect.UnaryFunc) (resp connect.AnyResponse, err error) {
	params, err := c.key(ctx, req)
	if err != nil {
		return nil, Error(ctx, err)
	}
	if params == nil || params == "" {
		return nil, Error(ctx, &distlock.KeyError{Detail: "what the request is about is missing"})
	}
	ran := false
	var handlerErr error
	err = c.site.Do(ctx, params, func(ctx context.Context) error {
		ran = true
		resp, handlerErr = next(ctx, req)
		return nil
	})
	switch {
	case !ran:
		return nil, Error(ctx, err)
	case errors.Is(err, distlock.ErrLost) && (handlerErr == nil || stopped(ctx, handlerErr)):
		return nil, Error(ctx, err)
	case handlerErr != nil:
		return nil, handlerErr
	default: // a release that failed comes too late; the hooks have it
		return resp, nil
	}
}

// stopped reports whether err, of a handler that has lost its lock, only says so: its context
// was cancelled, not the caller's.
func stopped(caller context.Context, err error) bool {
	canceled := errors.Is(err, context.Canceled) || connect.CodeOf(err) == connect.CodeCanceled
	return canceled && caller.Err() == nil || errors.Is(err, distlock.ErrLost) && !errors.As(err, new(*connect.Error))
}

// Error returns err, of a lock, as the error for the client: the one of grpcmw. ctx is the
// caller's. A [*connect.Error] of a Key is returned unchanged.
func Error(ctx context.Context, err error) error {
	if distlock.CodeOf(err) == distlock.CodeOther && errors.As(err, new(*connect.Error)) {
		return err
	}
	s := status.Convert(grpcmw.StatusError(ctx, err))
	answer := connect.NewError(connect.Code(s.Code()), &hiddenError{s.Message(), err})
	for _, detail := range s.Proto().GetDetails() {
		if d, err := connect.NewErrorDetail(detail); err == nil {
			answer.AddDetail(d)
		}
	}
	return answer
}

// hiddenError has a text for clients, without keys and servers, and the error for logs.
type hiddenError struct {
	text string
	err  error
}

// Error returns the text for clients.
func (e *hiddenError) Error() string { return e.text }

// Unwrap returns the error of the lock.
func (e *hiddenError) Unwrap() error { return e.err }
