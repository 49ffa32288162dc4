package etcdlock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/wake"
)

// session is a lease of etcd that the Backend keeps alive. All places of the Backend's
// owners are attached to it, and etcd deletes them when it ends.
//
// The fence is a key that is attached to the lease, too. The transaction that creates a
// place demands that the fence was last written with the revision that the session
// knows. When a request for a place has an unknown outcome, and its owner does not want
// the place any more, a new write to the fence makes sure that the request creates
// nothing if it arrives late. If the lease has ended there is no fence.
type session struct {
	placequeue.Session

	link  *link
	id    clientv3.LeaseID
	ttl   time.Duration // as agreed with the server
	path  string        // of the fence
	fence atomic.Int64  // the last revision of the fence that is known
	poke  chan struct{} // makes run send a keep-alive

	mu      sync.Mutex
	alive   time.Time     // when the last keep-alive was sent that the server has answered
	term    int64         // of the server that has answered it
	changed chan struct{} // closed when alive changes
}

// maxLease returns how long the lease of a lock may be. It begins when a request is
// sent, and fresh makes sure that the lease of etcd was kept alive not much earlier. So
// it ends before etcd may end its lease.
func (s *session) maxLease() time.Duration { return s.ttl / 2 }

// maxAge is how old the last keep-alive may be when a lock is granted or renewed. A
// tenth of the TTL remains, for clocks that tick at different rates.
func (s *session) maxAge() time.Duration { return s.ttl * 2 / 5 }

// interval is the time between keep-alives.
func (s *session) interval() time.Duration { return s.ttl / 3 }

// writeFence writes the fence. Afterwards no transaction that was sent before can
// create a place.
func (s *session) writeFence(ctx context.Context) error {
	resp, _, err := twice(ctx, s.link, func(ctx context.Context) (*clientv3.PutResponse, error) {
		return s.link.client.Put(ctx, s.path, "", clientv3.WithLease(s.id))
	})
	switch {
	case err == nil:
		raise(&s.fence, resp.Header.Revision)
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		s.End()
	}
	return err
}

// learn records what was read of the fence, after a transaction has demanded another
// revision of it or has failed for another reason. Without a fence the session ends. It
// returns whether the revision was the demanded one.
func (s *session) learn(resp *pb.RangeResponse, demanded int64) bool {
	if len(resp.Kvs) == 0 || resp.Kvs[0].ModRevision < demanded { // the cluster was restored from a backup
		s.End() // the lease of etcd, if it is still there, ends by itself
		return false
	}
	raise(&s.fence, resp.Kvs[0].ModRevision)
	return resp.Kvs[0].ModRevision == demanded
}

// isFenced demands that the fence is unchanged.
func (s *session) isFenced(fence int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(s.path), "=", fence)
}

// fresh returns when the lease of etcd was kept alive recently enough for a lock that
// counts from the given time. The caller has learned the term of the answer that the
// lock is granted or renewed by.
//
// A keep-alive of an earlier term does not count. Some versions of etcd, 3.4.23 is one,
// answer it without a majority: a leader that has stood still, and does not know yet
// that another leads, says that the lease goes on. If the terms are the same, the
// server that has answered the keep-alive still led when the lock was granted or
// renewed, and a later leader starts the TTL anew.
func (s *session) fresh(ctx context.Context, from time.Time) error {
	for {
		s.mu.Lock()
		alive, term, changed := s.alive, s.term, s.changed
		s.mu.Unlock()
		if s.HasEnded() {
			return errLeaseGone
		}
		if clock.Elapsed(alive, from) <= s.maxAge() && term >= s.link.term.Load() {
			return nil
		}
		wake.Signal(s.poke)
		select {
		case <-changed:
		case <-s.Ended():
		case <-ctx.Done():
			return s.link.explain(ctx, ctx.Err())
		}
	}
}

func (s *session) confirm(sent time.Time, term int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sent.Before(s.alive) {
		return // another stream was faster
	}
	s.alive, s.term = sent, term
	close(s.changed)
	s.changed = make(chan struct{})
}

// run keeps the lease alive until it has ended or the Backend is closed.
func (s *session) run() {
	for pause := s.interval(); ; pause = min(s.ttl/10, time.Second) {
		select {
		case <-time.After(pause):
		case <-s.poke:
		case <-s.Ended():
			return
		case <-s.link.background.Done():
			return
		}
		s.keepAlive(false)
	}
}

// review ends the session if a majority of the servers answers in an older term than was
// known before. The cluster was restored from a backup then, and no keep-alive would count.
func (s *session) review() {
	op, end := s.link.opContext(s.link.background)
	defer end()
	known := s.link.term.Load()
	resp, err := s.link.client.Get(op, s.path)
	if err == nil && int64(resp.Header.RaftTerm) < known && s.link.term.CompareAndSwap(known, int64(resp.Header.RaftTerm)) {
		s.End()
	}
}

// keepAlive sends keep-alives on one stream until the stream fails, or once. The
// client's own KeepAlive does not tell when it has sent the request that was answered.
// If an answer is late, another stream gets one keep-alive, over a new connection.
func (s *session) keepAlive(once bool) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(s.link.background))
	defer cancel()
	limit := time.AfterFunc(s.link.config.OpTimeout, cancel)
	defer limit.Stop()
	stream, err := clientv3.RetryLeaseClient(s.link.client).LeaseKeepAlive(ctx)
	if err != nil {
		return
	}
	other := time.AfterFunc(time.Hour, func() {
		s.link.background.Run(func() {
			s.link.reconnect()
			s.keepAlive(true)
		})
	})
	defer other.Stop()
	for {
		if !once {
			other.Reset(s.link.config.OpTimeout / 2)
		}
		sent := time.Now()
		if stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(s.id)}) != nil {
			return
		}
		resp, err := stream.Recv()
		if err != nil {
			return
		}
		if resp.TTL <= 0 {
			s.End()
			return
		}
		term := int64(resp.Header.RaftTerm)
		if term < s.link.term.Load() {
			s.link.background.Run(s.review)
			return // the next stream may be one to another server
		}
		s.confirm(sent, term)
		if other.Stop(); once {
			return
		}
		limit.Stop()
		select {
		case <-time.After(s.interval()):
		case <-s.poke:
		case <-s.Ended():
			return
		case <-ctx.Done():
			return
		}
		limit.Reset(s.link.config.OpTimeout)
	}
}
