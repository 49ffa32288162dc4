package etcdlock

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/rolling"
)

var (
	_ driver.Backend   = (*backend)(nil)
	_ driver.Queuer    = (*backend)(nil)
	_ driver.Extender  = (*backend)(nil)
	_ driver.Inspector = (*backend)(nil)
	_ driver.Pinger    = (*backend)(nil)
)

// backend is the Backend that New returns.
type backend struct {
	config  Config
	client  *clientv3.Client
	current atomic.Pointer[session] // nil before the first
	term    atomic.Int64            // the newest term that is known: see fresh
	stream  atomic.Int64            // of watches: see watch
	renewed atomic.Int64            // when the connections were replaced last: see reconnect
	making  chan struct{}           // full while a goroutine makes a session
	table   table
	sweeper sweeper

	background *placequeue.Background
}

// New returns a Backend that keeps locks on the servers of client, which the caller closes
// after the Backend. Make a Backend for each Locker: it has one lease of etcd, and when that
// ends all its locks end. New sends nothing. It fails if a field of the Config is invalid.
//
// If requests have no answer, the Backend replaces the connections of the client by setting its
// endpoints again, at most once in the time of two operations.
//
// If the client has a user, New replaces client.Auth. Call it before other goroutines use
// the client.
//
// Close revokes the lease of etcd, which releases all locks and all places in queues. If no
// server answers, they end with the lease. Close takes a few seconds at most, and returns
// nil.
func New(client *clientv3.Client, config Config) (driver.Backend, error) {
	if client == nil {
		return nil, errors.New("etcdlock: nil client")
	}
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	mendLogin(client)
	b := &backend{config: config, client: client, making: make(chan struct{}, 1), background: placequeue.NewBackground()}
	b.table.backend, b.table.slots = b, make(map[string]*slots)
	b.table.Init(b.table.sweep)
	b.sweeper = sweeper{backend: b, wake: make(chan struct{}, 1), places: make(map[string]leftover)}
	b.background.Run(b.sweeper.run)
	return b, nil
}

// Close implements [driver.Backend].
func (b *backend) Close() error {
	if !b.background.Close(errClosed) {
		return nil
	}
	b.table.StopTimers()
	b.background.Wait()
	b.making <- struct{}{} // a session that is being made is revoked, too
	if s := b.current.Load(); s != nil && !s.HasEnded() {
		s.End()
		ctx, end := context.WithTimeout(context.WithoutCancel(b.background), b.config.OpTimeout)
		defer end()
		_, _ = b.client.Revoke(ctx, s.id)
	}
	<-b.making
	return nil
}

// Ping implements [driver.Pinger]. It does what a lock does: it gets a lease of etcd if the
// Backend has none yet, and writes and reads a key below the prefix, which ends with the
// Backend. The error names what is missing, such as a permission, or space.
func (b *backend) Ping(ctx context.Context) error {
	op, end := b.opContext(ctx)
	defer end()
	for op.Err() == nil {
		s, err := b.session(op)
		if err != nil {
			return err
		}
		_, _, err = b.txn(op, nil,
			clientv3.OpPut(s.path+"/ping", "", clientv3.WithLease(s.id)), clientv3.OpGet(s.path, clientv3.WithPrefix()))
		if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return b.explain(op, err)
		}
		s.End()
	}
	return b.explain(op, op.Err())
}

// Features implements [driver.Backend]. The requests for a key wait in one queue,
// whatever they ask for. A reader does not overtake a writer that waits. Adjacent readers
// at the head of the queue have the key together, and so do adjacent requests for
// permits.
func (b *backend) Features() driver.Features { return driver.Features{Sharing: true} }

// opContext returns a context for one operation.
func (b *backend) opContext(ctx context.Context) (context.Context, context.CancelFunc) {
	op, end := rolling.Within(ctx, b.config.OpTimeout, errNoAnswer)
	return untold{op}, end
}

// twice sends a request of an operation, and another one over a new connection if there is no
// answer in half of the time that is left, or if the server is not available. It returns the
// answer that comes first. With again, either request may have been carried out before the
// answer, or may be still.
func twice[T any](ctx context.Context, b *backend, send func(context.Context) (T, error)) (answer T, again bool, err error) {
	patience := b.config.OpTimeout / 2
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
	results := make(chan result, 2)
	try := func() {
		answer, err := send(ctx)
		results <- result{answer, err}
	}
	go try()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	waits := true // for the first
	select {
	case r := <-results:
		if codeOf(r.err) != codes.Unavailable || ctx.Err() != nil {
			return r.answer, false, r.err
		}
		waits = false
	case <-timer.C:
		if patience >= min(b.config.OpTimeout/4, time.Second/2) { // a caller in a hurry is no evidence
			b.reconnect()
		}
	}
	go try()
	r := <-results
	if r.err != nil && waits {
		r = <-results
	}
	return r.answer, true, r.err
}

// reconnect replaces the client's connections, but not twice in the time of two operations. It
// is for a connection that dies without a word: gRPC finds that only with keep-alives, which
// [clientv3.Config] leaves off. Requests that were sent go on where they are. A server that is
// silent gets no more requests, because it does not complete the new connection.
func (b *backend) reconnect() {
	now, last := time.Now().UnixNano(), b.renewed.Load()
	if now-last < int64(2*b.config.OpTimeout) || !b.renewed.CompareAndSwap(last, now) {
		return
	}
	b.stream.Add(1)
	all := b.client.Endpoints()
	for i := range all { // one after the other: without any, requests fail
		b.client.SetEndpoints(slices.Delete(slices.Clone(all), i, i+1)...)
		b.client.SetEndpoints(all...)
	}
}

// txn sends a transaction as [twice] does.
func (b *backend) txn(ctx context.Context, conditions []clientv3.Cmp, then ...clientv3.Op) (*clientv3.TxnResponse, bool, error) {
	return twice(ctx, b, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return b.client.Txn(ctx).If(conditions...).Then(then...).Commit()
	})
}

// untold is a context with a deadline that gRPC does not tell the server: a header with
// each request, and a timer of the server, for what the client ends by itself.
type untold struct{ context.Context } //nolint:containedctx // it is one itself

// Deadline implements [context.Context].
func (untold) Deadline() (_ time.Time, _ bool) { return }

// dir returns what the names of the places of a key begin with.
func (b *backend) dir(key string) string { return b.config.Prefix + EscapeKey(key) + "/" }

// queue reads the queue of a key. It returns the revision of what it has read.
func (b *backend) queue(ctx context.Context, key string) (queue, int64, error) {
	resp, _, err := twice(ctx, b, func(ctx context.Context) (*clientv3.GetResponse, error) {
		return b.client.Get(ctx, b.dir(key), clientv3.WithPrefix())
	})
	if err != nil {
		return nil, 0, b.explain(ctx, err)
	}
	b.learnTerm(resp.Header)
	return parseQueue(resp.Kvs, b.config.Prefix), resp.Header.Revision, nil
}

// heldError returns the error that names the holder of the key, the owner of the first
// place. Only the holder's process knows when it got the key and when its lease ends.
func (b *backend) heldError(q queue) *driver.HeldError {
	if len(q) == 0 {
		return &driver.HeldError{}
	}
	if l, ok := b.table.HeldAt(q[0].path); ok {
		return l.HeldError()
	}
	return &driver.HeldError{Holder: driver.HolderOf(q[0].owner)}
}
