package torture

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/internal/etcdtest"
)

// etcdStore is an etcd server, or a cluster of three.
type etcdStore struct {
	*etcdtest.Cluster
	admin *clientv3.Client
}

func startEtcd(tb testing.TB, servers int) store {
	tb.Helper()
	s := new(etcdStore)
	if servers > 1 {
		s.Cluster = etcdtest.StartCluster(tb)
	} else {
		s.Cluster = &etcdtest.Cluster{Servers: []*etcdtest.Server{etcdtest.Start(tb)}}
	}
	var err error
	if s.admin, err = clientv3.New(clientv3.Config{Endpoints: s.Addrs(), Logger: zap.NewNop()}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.admin.Close() })
	return s
}

func (s *etcdStore) addrs() []string { return s.Addrs() }

func (s *etcdStore) stop(tb testing.TB, i int) {
	tb.Helper()
	s.Servers[i].Stop(tb)
}

func (s *etcdStore) cont(tb testing.TB, i int) {
	tb.Helper()
	s.Servers[i].Cont(tb)
}

func (s *etcdStore) kill(i int) { s.Servers[i].Kill() }

func (s *etcdStore) restart(tb testing.TB, i int) {
	tb.Helper()
	s.Servers[i].Restart(tb)
}

// compact removes the history, so that watches of the past fail.
func (s *etcdStore) compact(tb testing.TB) {
	tb.Helper()
	insist(tb, func(ctx context.Context) error {
		now, err := s.admin.Get(ctx, "none")
		if err == nil {
			_, err = s.admin.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
		}
		if errors.Is(err, rpctypes.ErrCompacted) {
			return nil // by an earlier request, the answer to which was late
		}
		return err
	})
}

// alarm raises the alarm that there is no space left, or ends it.
func (s *etcdStore) alarm(tb testing.TB, on bool) {
	tb.Helper()
	r := &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, Alarm: pb.AlarmType_NOSPACE}
	if on {
		r.Action = pb.AlarmRequest_ACTIVATE
	}
	insist(tb, func(ctx context.Context) error {
		_, err := pb.NewMaintenanceClient(s.admin.ActiveConnection()).Alarm(ctx, r)
		return err
	})
}

// left returns everything below the prefix.
func (s *etcdStore) left(int) (left []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	all, err := s.admin.Get(ctx, etcdlock.DefaultPrefix, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	for _, kv := range all.Kvs {
		left = append(left, fmt.Sprintf("%s with lease %x", kv.Key, kv.Lease))
	}
	return left, nil
}
