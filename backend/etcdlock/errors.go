package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
)

var (
	errClosed    = errors.New("etcdlock: the Backend is closed")
	errNoAnswer  = errors.New("no answer")
	errFence     = errors.New("etcdlock: the fence was written")
	errLeaseGone = errors.New("etcdlock: the lease of etcd has ended")
)

// serverError says at which servers a request failed, and why.
type serverError struct {
	text string
	err  error // nil, or the error of etcd
}

func (e *serverError) Error() string { return e.text }
func (e *serverError) Unwrap() error { return e.err }

// isUnknown reports whether a request that failed with err may have changed something, or
// may do so later. A server that refuses a request has not applied it.
func isUnknown(err error) bool {
	if err == nil || errors.Is(err, errFence) {
		return false
	}
	switch codeOf(err) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.ResourceExhausted, codes.FailedPrecondition, codes.Unauthenticated:
		return false
	default:
		return true
	}
}

// codeOf returns the code of an error of the client.
func codeOf(err error) codes.Code {
	if known := (rpctypes.EtcdError{}); errors.As(err, &known) {
		return known.Code()
	}
	return status.Code(err)
}

// probeTimeout limits the request that finds out why there is no connection.
const probeTimeout = 100 * time.Millisecond

// explain returns the error for the caller of a request that failed. ctx is that of the
// request. Without a connection, the error names that as the cause, not the deadline.
func (b *backend) explain(ctx context.Context, err error) error {
	var cause string
	switch {
	case err == nil, errors.Is(err, errClosed), errors.Is(err, errLeaseGone), errors.As(err, new(*serverError)):
		return err
	case b.background.Err() != nil:
		return errClosed
	case ctx.Err() == nil:
		var known rpctypes.EtcdError
		if !errors.As(err, &known) {
			cause = status.Convert(err).Message()
			return b.serverError(cause, nil)
		}
		return b.serverError(known.Error()+b.remedy(known), err)
	}
	if b.client.ActiveConnection().GetState() != connectivity.Ready {
		cause = b.connectionError()
	}
	if errors.Is(context.Cause(ctx), errNoAnswer) {
		text := fmt.Sprintf("%v within %v", errNoAnswer, b.config.OpTimeout)
		if cause != "" {
			text += ": " + cause
		}
		return b.serverError(text, nil)
	}
	if cause != "" {
		return b.serverError(cause, nil)
	}
	return ctx.Err()
}

// remedy returns what an operator can do about an error of etcd, or "".
func (b *backend) remedy(err error) string {
	switch {
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return fmt.Sprintf("; the user %q needs a role that may read and write the keys with the prefix %q: "+
			"etcdctl role grant-permission ROLE readwrite --prefix %[2]q", b.client.Username, b.config.Prefix)
	case errors.Is(err, rpctypes.ErrUserEmpty):
		return "; the servers have authentication enabled: the client needs Username and Password"
	case errors.Is(err, rpctypes.ErrNoSpace):
		return "; the servers have raised the alarm NOSPACE: compact, defragment, then etcdctl alarm disarm"
	default:
		return ""
	}
}

func (b *backend) serverError(cause string, err error) error {
	return &serverError{
		text: "etcdlock: " + strings.Join(b.client.Endpoints(), ",") + ": " + strings.ReplaceAll(cause, "\n", "; "), err: err,
	}
}

// connectionError returns why there is no connection to any server, or "" if there is one.
func (b *backend) connectionError() string {
	ctx, end := context.WithTimeout(b.background, probeTimeout)
	defer end()
	stream, err := clientv3.RetryLeaseClient(b.client).LeaseKeepAlive(ctx)
	if err == nil {
		_ = stream.CloseSend()
		return ""
	}
	return status.Convert(err).Message()
}
