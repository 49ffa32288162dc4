package etcdlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// staleStream is a stream of keep-alives. If stale is true, the answers have the term
// before the present one.
type staleStream struct {
	grpc.ClientStream
	stale *atomic.Bool
}

func (s staleStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if resp, ok := m.(*pb.LeaseKeepAliveResponse); ok && err == nil && s.stale.Load() {
		resp.Header.RaftTerm--
	}
	return err
}

// TestStaleLeader: keep-alives are answered by a server that led in an earlier term
// and does not know that another leads. etcd 3.4.23 does so when a leader was stopped for a
// while: the lease of etcd does not continue.
//
// Row 26 (etcdlock): a keep-alive of an earlier term than that of the lock's renewal does
// not count, and the lease ends. Fails if the terms are not compared.
func TestStaleLeader(t *testing.T) {
	t.Parallel()
	stale := new(atomic.Bool)
	intercept := func(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		s, err := open(ctx, d, cc, method, opts...)
		return staleStream{s, stale}, err
	}
	c, err := clientv3.New(clientv3.Config{
		Endpoints: []string{shared.Server(t).Addr()}, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithChainStreamInterceptor(intercept)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := newBackend(t, c, etcdlock.WithSessionTTL(2*time.Second), etcdlock.WithOpTimeout(shortTimeout))
	r := testkit.NewRequest(t.Name())
	g := testkit.TryRepeatedly(t, b, r)
	stale.Store(true)
	testkit.Eventually(t, "the lock is not renewed", func() bool { return testkit.Renewed(t, b, g).Status != driver.Renewed })
	testkit.Eventually(t, "the lease ends", func() bool { return testkit.Renewed(t, b, g).Status == driver.Lost })
	stale.Store(false)
	testkit.Eventually(t, "the place is deleted", func() bool { return placeOf(t, c, r) == "" })
	mustWork(t, b, t.Name())
}
