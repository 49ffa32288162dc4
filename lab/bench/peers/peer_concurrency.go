package main

import (
	"context"
	"strings"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// etcdMutex is the name of the peer in F18.
const etcdMutex = "concurrency"

// etcdMutexPeer is concurrency.Mutex of the official client. A lock belongs to a session:
// two callers with the same session would both have it, so each caller has a session of
// its own while it holds the lock or waits for it. Sessions are used again.
type etcdMutexPeer struct {
	client *clientv3.Client

	mu   sync.Mutex
	idle []*concurrency.Session
}

func newEtcdMutex(url string) (Peer, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{strings.TrimPrefix(url, "etcd://")}, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	return &etcdMutexPeer{client: c}, nil
}

func (p *etcdMutexPeer) Lock(ctx context.Context, key string) (func(context.Context) error, error) {
	s, err := p.session()
	if err != nil {
		return nil, err
	}
	m := concurrency.NewMutex(s, "/"+key)
	if err := m.Lock(ctx); err != nil {
		p.put(s)
		return nil, err
	}
	return func(ctx context.Context) error {
		defer p.put(s)
		return m.Unlock(ctx)
	}, nil
}

// session returns an idle session, or a new one.
func (p *etcdMutexPeer) session() (*concurrency.Session, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return s, nil
	}
	p.mu.Unlock()
	return concurrency.NewSession(p.client, concurrency.WithTTL(int(sessionTimeout.Seconds())))
}

func (p *etcdMutexPeer) put(s *concurrency.Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, s)
}

func (p *etcdMutexPeer) Close() error {
	for _, s := range p.idle {
		s.Orphan() // its lease ends by itself
	}
	return p.client.Close()
}
