package etcdlock

import (
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	errClosed    = fmt.Errorf("etcdlock: the Backend is closed (%w)", errors.ErrUnsupported)
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

// isUnknown reports whether a request that failed with err may have changed something,
// or may do so later. A server that refuses a request has not applied it.
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

func codeOf(err error) codes.Code {
	if known := (rpctypes.EtcdError{}); errors.As(err, &known) {
		return known.Code()
	}
	return status.Code(err)
}
