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
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
)

// etcdStore is an etcd server, or a cluster of three.
type etcdStore struct {
	*etcdtest.Cluster
	admin *clientv3.Client
}

func startEtcd(tb testing.TB, servers int) store {
	tb.Helper()
	s := &etcdStore{Cluster: new(etcdtest.Cluster)}
	if servers > 1 {
		s.Cluster = etcdtest.StartCluster(tb)
	} else {
		s.Servers = []*etcdtest.Server{etcdtest.Start(tb)}
	}
	var err error
	if s.admin, err = clientv3.New(clientv3.Config{Endpoints: s.Addrs(), Logger: zap.NewNop()}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.admin.Close() })
	return s
}

func (s *etcdStore) addrs() []string { return s.Addrs() }

func (s *etcdStore) server(i int) *child.Server { return &s.Servers[i].Server }

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

// alarm raises the alarm that there is no space left, or ends it. A server of version 3.4
// that is killed soon afterwards reads its log again from its last change of a key, and
// without the alarm: it then applies what all have refused, and its data differ. So the
// alarm is over when each server has written a later change to its disk, which takes a
// tenth of a second.
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
	if on {
		return
	}
	insist(tb, func(ctx context.Context) error {
		put, err := s.admin.Put(ctx, "none", "")
		for _, addr := range s.Addrs() {
			if err == nil {
				_, err = s.admin.HashKV(ctx, addr, put.Header.Revision)
			}
		}
		return err
	})
	time.Sleep(300 * time.Millisecond)
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

// differ returns how the servers' data differ, or "" if they have the same. Locks promise
// nothing then: etcd itself has lost or invented writes.
func (s *etcdStore) differ(tb testing.TB) (how string) {
	tb.Helper()
	insist(tb, func(ctx context.Context) error {
		now, err := s.admin.Get(ctx, "none")
		if err != nil {
			return err
		}
		how = ""
		var first *clientv3.HashKVResponse
		for i, addr := range s.Addrs() {
			// A server that is behind does not know the revision yet, or has not compacted.
			h, err := s.admin.HashKV(ctx, addr, now.Header.Revision)
			if err != nil {
				how = fmt.Sprintf("server %d does not have revision %d: %v", i, now.Header.Revision, err)
				continue
			}
			if first == nil {
				first = h
			}
			if h.Hash != first.Hash || h.CompactRevision != first.CompactRevision {
				how = fmt.Sprintf("server %d has hash %x at revision %d, another one %x", i, h.Hash, now.Header.Revision, first.Hash)
			}
		}
		return nil
	})
	return how
}
