package etcdlock

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/background"
	_ "github.com/distlock-go/distlock/internal/raise-all-modules-together/v0.1" // one version
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
	*link

	current atomic.Pointer[session] // nil before the first
	making  chan struct{}           // full while a goroutine makes a session
	table   table
	sweeper sweeper

	looks sync.Mutex
	next  *looks // that is not sent yet
}

// New returns a Backend that keeps locks on the servers of client, which the caller
// closes after the Backend. Make a Backend for each Locker: it has one lease of etcd,
// and when that ends all its locks end. New sends nothing. It fails if a field of the
// Config is invalid.
//
// If requests have no answer, the Backend replaces the connections of the client by
// setting its endpoints again, at most once in the time of two operations.
//
// Close revokes the lease of etcd, which releases all locks and all places in queues.
// If no server answers, they end with the lease. Close takes a few seconds at most, and
// returns nil.
func New(client *clientv3.Client, config Config) (driver.Backend, error) {
	if client == nil {
		return nil, errors.New("etcdlock: nil client")
	}
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &link{config: config, client: client, background: background.New()}
	b := &backend{link: l, making: make(chan struct{}, 1)}
	b.table.prefix, b.table.slots = config.Prefix, make(map[string]*slots)
	b.sweeper = sweeper{link: l, table: &b.table, wake: make(chan struct{}, 1), places: make(map[*ticket]struct{})}
	b.table.Init(b.opContext, b.sweeper.take)
	b.background.Run(b.sweeper.run)
	return b, nil
}

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

// Ping implements [driver.Pinger]. It does what a lock does: it gets a lease of etcd if
// the Backend has none yet, and writes and reads a key below the prefix, which ends
// with the Backend. The error names what is missing, such as a permission, or space.
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

func (b *backend) Features() driver.Features { return driver.Features{Sharing: true} }

// session returns the present session, or makes one if there is none.
func (b *backend) session(ctx context.Context) (*session, error) {
	if s := b.current.Load(); s != nil && !s.HasEnded() {
		return s, nil
	}
	select {
	case b.making <- struct{}{}:
		defer func() { <-b.making }()
	case <-ctx.Done():
		return nil, b.explain(ctx, ctx.Err())
	}
	if s := b.current.Load(); s != nil && !s.HasEnded() {
		return s, nil
	}
	if b.background.Err() != nil {
		return nil, errClosed
	}
	sent := time.Now()
	lease, err := b.newLease(ctx, int64(b.config.SessionTTL/time.Second))
	if err != nil {
		return nil, b.explain(ctx, err)
	}
	s := &session{
		Session: placequeue.NewSession(), link: b.link, id: lease.ID, ttl: time.Duration(lease.TTL) * time.Second, alive: sent, term: int64(lease.RaftTerm),
		path: b.config.Prefix + sessions + "/" + strconv.FormatInt(int64(lease.ID), 16),
		poke: make(chan struct{}, 1), changed: make(chan struct{}),
	}
	if err := s.writeFence(ctx); err != nil {
		return nil, b.explain(ctx, err) // the lease ends by itself
	}
	b.current.Store(s)
	b.background.Run(s.run)
	return s, nil
}

// dir returns what the names of the places of a key begin with.
func (b *backend) dir(key string) string { return dirOf(b.config.Prefix, key) }

// queue reads the queue of a key. It returns the revision of what it has read.
func (b *backend) queue(ctx context.Context, key string) (queue, int64, error) {
	resp, _, err := twice(ctx, b.link, func(ctx context.Context) (*clientv3.GetResponse, error) {
		return b.client.Get(ctx, b.dir(key), clientv3.WithPrefix())
	})
	if err != nil {
		return nil, 0, b.explain(ctx, err)
	}
	b.learnTerm(resp.Header)
	return parseQueue(resp.Kvs, b.config.Prefix), resp.Header.Revision, nil
}
