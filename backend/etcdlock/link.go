package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock/internal/background"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/rolling"
)

// link is a Backend's requests to the servers.
type link struct {
	config     Config
	client     *clientv3.Client
	background *background.Work
	term       atomic.Int64 // the newest term that is known: see session.fresh
	stream     atomic.Int64 // of watches: see watch
	renewed    atomic.Int64 // when the connections were replaced last: see reconnect
}

// opContext returns a context for one operation.
func (l *link) opContext(ctx context.Context) (context.Context, context.CancelFunc) {
	op, end := rolling.Within(ctx, l.config.OpTimeout, errNoAnswer)
	return untold{op}, end
}

// twice sends a request of an operation, and another one over a new connection if there
// is no answer in half of the time that is left, or if the server is not available. It
// returns the answer that comes first. With again, either request may have been carried
// out before the answer, or may be still.
func twice[T any](ctx context.Context, l *link, send func(context.Context) (T, error)) (answer T, again bool, err error) {
	patience := l.config.OpTimeout / 2
	if u, ok := ctx.(untold); ok {
		if end, ok := u.Context.Deadline(); ok {
			patience = min(patience, time.Until(end)/2)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		answer T
		err    error
	}
	second := make(chan result, 1)
	late := time.AfterFunc(patience, func() {
		if patience >= min(l.config.OpTimeout/8, time.Second/4) { // a caller in a hurry is no evidence
			l.reconnect()
		}
		answer, err := send(ctx)
		second <- result{answer, err}
		if err == nil {
			cancel() // the first need not wait
		}
	})
	answer, err = send(ctx)
	switch stopped := late.Stop(); {
	case stopped && (codeOf(err) != codes.Unavailable || ctx.Err() != nil):
		return answer, false, err
	case stopped:
		answer, err = send(ctx)
	case err != nil:
		r := <-second
		answer, err = r.answer, r.err
	}
	if codeOf(err) == codes.Unavailable && ctx.Err() == nil { // the address may lead elsewhere by now
		l.reconnect()
	}
	return answer, true, err
}

// reconnect replaces the client's connections, but not twice in the time of two
// operations. It is for a connection that leads to a member without the others, or that
// dies without a word: gRPC finds that only with keep-alives, which [clientv3.Config]
// leaves off. Requests that were sent go on where they are. A server that is silent
// gets no more requests, because it does not complete the new connection.
func (l *link) reconnect() {
	now, last := time.Now().UnixNano(), l.renewed.Load()
	if now-last < int64(2*l.config.OpTimeout) || !l.renewed.CompareAndSwap(last, now) {
		return
	}
	l.stream.Add(1)
	l.client.ActiveConnection().Connect() // SetEndpoints must not meet the first use of the connection
	all := l.client.Endpoints()
	for i := range all { // one after the other: without any, requests fail
		l.client.SetEndpoints(slices.Delete(slices.Clone(all), i, i+1)...)
		l.client.SetEndpoints(all...)
	}
}

// txn sends a transaction as [twice] does.
func (l *link) txn(ctx context.Context, conditions []clientv3.Cmp, then ...clientv3.Op) (*clientv3.TxnResponse, bool, error) {
	return twice(ctx, l, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return l.client.Txn(ctx).If(conditions...).Then(then...).Commit()
	})
}

// untold is a context with a deadline that gRPC does not tell the server: a header with
// each request, and a timer of the server, for what the client ends by itself.
type untold struct{ context.Context } //nolint:containedctx // it is one itself

func (untold) Deadline() (_ time.Time, _ bool) { return }

// learnTerm records the term of an answer that a majority of the servers stands for.
func (l *link) learnTerm(h *pb.ResponseHeader) { raise(&l.term, int64(h.RaftTerm)) }

// newLease gets a lease of etcd without keeping it alive.
func (l *link) newLease(ctx context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error) {
	lease, _, err := twice(ctx, l, func(ctx context.Context) (*clientv3.LeaseGrantResponse, error) {
		return l.client.Grant(ctx, seconds)
	})
	return lease, err
}

// exist returns which of the places exist, in one transaction.
func (l *link) exist(ctx context.Context, places queue) ([]bool, error) {
	exist := make([]bool, len(places))
	ops := make([]clientv3.Op, len(places))
	for i, p := range places {
		ops[i] = clientv3.OpGet(p.path, clientv3.WithKeysOnly())
	}
	resp, _, err := l.txn(ctx, nil, ops...)
	if err != nil {
		return exist, l.explain(ctx, err)
	}
	l.learnTerm(resp.Header)
	for i, p := range places {
		kvs := resp.Responses[i].GetResponseRange().Kvs
		exist[i] = len(kvs) > 0 && kvs[0].CreateRevision == p.created
	}
	return exist, nil
}

// watchPause is the wait after a watch that has failed.
const watchPause = 200 * time.Millisecond

// watch returns when the place at path was deleted after a revision. If the watch fails, as
// when the history was compacted since or the server has no leader, it returns after a
// pause.
//
// All watches share one stream. A server with users checks the token with which the
// stream was opened, and refuses each watch after the token has ended. The client hears
// of it in a reply and keeps the stream. So watches after a failure use another stream,
// which the metadata of their context makes the client open.
func (l *link) watch(ctx context.Context, path string, after int64) {
	stream := l.stream.Load()
	ctx = metadata.AppendToOutgoingContext(ctx, "distlock-stream", strconv.FormatInt(stream, 10))
	for resp := range l.client.Watch(ctx, path, clientv3.WithRev(after+1), clientv3.WithFilterPut()) {
		if len(resp.Events) > 0 {
			return
		}
	}
	if ctx.Err() == nil {
		l.stream.CompareAndSwap(stream, stream+1)
	}
	clock.Sleep(ctx, watchPause)
}

// probeTimeout limits the request that finds out why there is no connection.
const probeTimeout = 100 * time.Millisecond

// explain returns the error for the caller of a request that failed. ctx belongs to the
// request. Without a connection, the error says why there is none.
func (l *link) explain(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, errClosed), errors.Is(err, errLeaseGone), errors.As(err, new(*serverError)):
		return err
	case l.background.Err() != nil:
		return errClosed
	case ctx.Err() == nil:
		var known rpctypes.EtcdError
		if !errors.As(err, &known) {
			return l.serverError(status.Convert(err).Message(), nil)
		}
		return l.serverError(known.Error()+l.remedy(known), err)
	}
	text := errNoAnswer.Error()
	if errors.Is(context.Cause(ctx), errNoAnswer) {
		text += fmt.Sprintf(" within %v", l.config.OpTimeout)
	}
	if l.client.ActiveConnection().GetState() != connectivity.Ready {
		if cause := l.connectionError(); cause != "" {
			text += ": " + cause
		}
	}
	return l.serverError(text, nil)
}

// remedy returns what an operator can do about an error of etcd, or "".
func (l *link) remedy(err error) string {
	switch {
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return fmt.Sprintf("; the user %q needs a role that may read and write the keys with the prefix %q: "+
			"etcdctl role grant-permission ROLE readwrite --prefix %[2]q", l.client.Username, l.config.Prefix)
	case errors.Is(err, rpctypes.ErrUserEmpty):
		return "; the servers have authentication enabled: the client needs Username and Password"
	case errors.Is(err, rpctypes.ErrNoSpace):
		return "; the servers have raised the alarm NOSPACE: compact, defragment, then etcdctl alarm disarm"
	default:
		return ""
	}
}

func (l *link) serverError(cause string, err error) error {
	return &serverError{
		text: "etcdlock: " + strings.Join(l.client.Endpoints(), ",") + ": " + strings.ReplaceAll(cause, "\n", "; "), err: err,
	}
}

// connectionError returns why there is no connection to any server, or "" if there is
// one.
func (l *link) connectionError() string {
	ctx, end := context.WithTimeout(l.background, probeTimeout)
	defer end()
	stream, err := clientv3.RetryLeaseClient(l.client).LeaseKeepAlive(ctx)
	if err == nil {
		_ = stream.CloseSend()
		return ""
	}
	return status.Convert(err).Message()
}

// raise makes v at least n.
func raise(v *atomic.Int64, n int64) {
	for {
		old := v.Load()
		if old >= n || v.CompareAndSwap(old, n) {
			return
		}
	}
}
