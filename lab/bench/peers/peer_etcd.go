package main

import (
	"context"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// etcdMutex is the name of the peer in F18.
const etcdMutex = "concurrency"

// newEtcdMutex uses concurrency.Mutex of the official client. A lock belongs to a session:
// two callers with the same session would both have it, so each caller has a session of
// its own while it holds the lock or waits for it. Sessions are used again.
func newEtcdMutex(t task) (lockFunc, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{strings.TrimPrefix(t.URL, "etcd://")}, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	idle := make(chan *concurrency.Session, t.Goroutines)
	session := func() (*concurrency.Session, error) {
		select {
		case s := <-idle:
			return s, nil
		default:
			return concurrency.NewSession(c, concurrency.WithTTL(int(sessionTimeout.Seconds())))
		}
	}
	return func(ctx context.Context, key string) (unlockFunc, error) {
		s, err := session()
		if err != nil {
			return nil, err
		}
		m := concurrency.NewMutex(s, "/"+key)
		if err := m.Lock(ctx); err != nil {
			idle <- s
			return nil, err
		}
		return func(ctx context.Context) error {
			defer func() { idle <- s }()
			return m.Unlock(ctx)
		}, nil
	}, nil
}
