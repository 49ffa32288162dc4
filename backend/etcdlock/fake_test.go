package etcdlock_test

import (
	"bytes"
	"cmp"
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// fake is a server of etcd, as far as this package uses one, in the time of a bubble.
// The client is the real one, but for its watches.
type fake struct {
	etcdserverpb.UnimplementedKVServer
	etcdserverpb.UnimplementedLeaseServer

	network *spoilnet.Network // of all connections
	dials   atomic.Int32

	mu       sync.Mutex
	listener *bufconn.Listener                                // for new connections
	refuse   map[net.Listener]func(ctx context.Context) error // by members that have lost the others
	term     uint64
	revision int64
	keys     map[string]*mvccpb.KeyValue
	leases   map[int64]*fakeLease
	deleted  []deletion
	changed  chan struct{} // closed with each deletion
	alone    uint64        // streams of keep-alives up to this number lead to a server that nobody follows
	streams  uint64
	txn      *etcdserverpb.TxnRequest // the last one

	unwatched bool     // watches fail
	failed    []string // their streams
	deaf      bool     // watches hear of nothing

	// What the answers to Grant and to keep-alives wait for; nil if nothing.
	delay func(keepAlive bool) time.Duration
}

type fakeLease struct {
	ttl   time.Duration
	ends  time.Time
	timer *time.Timer
}

type deletion struct {
	kv       *mvccpb.KeyValue
	revision int64
}

// startFake starts a server in a bubble. It ends with the test.
func startFake(tb testing.TB) *fake {
	tb.Helper()
	f := &fake{
		refuse: make(map[net.Listener]func(ctx context.Context) error), term: 1, revision: 1, keys: make(map[string]*mvccpb.KeyValue),
		leases: make(map[int64]*fakeLease), changed: make(chan struct{}),
	}
	f.network = spoilnet.To(func() (net.Conn, error) {
		f.dials.Add(1)
		f.mu.Lock()
		l := f.listener
		f.mu.Unlock()
		return l.Dial()
	})
	f.serve(tb)
	tb.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, l := range f.leases {
			l.timer.Stop()
		}
	})
	return f
}

// serve starts a member. New connections lead to it.
func (f *fake) serve(tb testing.TB) {
	tb.Helper()
	l := bufconn.Listen(1 << 16)
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		f.mu.Lock()
		refuse := f.refuse[l]
		f.mu.Unlock()
		if refuse != nil {
			return nil, refuse(ctx)
		}
		return handle(ctx, req)
	}))
	etcdserverpb.RegisterKVServer(s, f)
	etcdserverpb.RegisterLeaseServer(s, f)
	go s.Serve(l)
	tb.Cleanup(s.Stop)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listener = l
}

// move makes the address lead to another member. The one before has lost the others: it
// answers requests so, and keep-alives for nothing.
func (f *fake) move(tb testing.TB, refuse func(ctx context.Context) error) {
	tb.Helper()
	f.elect()
	f.mu.Lock()
	f.refuse[f.listener] = refuse
	f.mu.Unlock()
	f.serve(tb)
}

// client returns a client. Its requests pass s.
func (f *fake) client(tb testing.TB, s *spoiler) *clientv3.Client {
	tb.Helper()
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return f.network.DialContext(ctx, "", "") }
	opts := []grpc.DialOption{grpc.WithContextDialer(dial), grpc.WithChainUnaryInterceptor(s.intercept)}
	c := open(tb, clientv3.Config{Endpoints: []string{"127.0.0.1:1"}, DialOptions: opts})
	c.Watcher = watcher{c.Watcher, f}
	return c
}

// places returns the names of the places of a key.
func (f *fake) places(key string) []string { return f.paths(dirOf(key)) }

// paths returns the names of the keys with a prefix.
func (f *fake) paths(prefix string) (paths []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for path := range f.keys {
		if strings.HasPrefix(path, prefix) {
			paths = append(paths, path)
		}
	}
	return paths
}

// created returns the revision that has created a key.
func (f *fake) created(path string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keys[path].GetCreateRevision()
}

// lastLease returns the lease that was granted last.
func (f *fake) lastLease() (id int64, ends time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, l := range f.leases {
		if i > id {
			id, ends = i, l.ends
		}
	}
	return id, ends
}

// revoke ends a lease, and deletes its keys.
func (f *fake) revoke(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.leases[id]
	if l == nil {
		return
	}
	l.timer.Stop()
	delete(f.leases, id)
	f.revision++
	for path, kv := range f.keys {
		if kv.Lease == id {
			f.remove(path)
		}
	}
}

// revokeOf ends the lease of a key.
func (f *fake) revokeOf(path string) {
	f.mu.Lock()
	id := f.keys[path].Lease
	f.mu.Unlock()
	f.revoke(id)
}

// remove deletes a key at the present revision.
func (f *fake) remove(path string) {
	if f.keys[path] == nil {
		return
	}
	f.deleted = append(f.deleted, deletion{f.keys[path], f.revision})
	delete(f.keys, path)
	close(f.changed)
	f.changed = make(chan struct{})
}

// delete deletes a key, as an operator does.
func (f *fake) delete(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revision++
	f.remove(path)
}

// elect makes another server the leader. The old one does not know it: it answers the
// keep-alives of the streams that it has, which count for nothing.
func (f *fake) elect() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.term++
	f.alone = f.streams
}

func (f *fake) header() *etcdserverpb.ResponseHeader {
	return &etcdserverpb.ResponseHeader{Revision: f.revision, RaftTerm: f.term}
}

func within(key string, from, end []byte) bool {
	if len(end) == 0 {
		return key == string(from)
	}
	return key >= string(from) && bytes.Compare([]byte(key), end) < 0
}

func (f *fake) find(from, end []byte) (kvs []*mvccpb.KeyValue) {
	for path, kv := range f.keys {
		if within(path, from, end) {
			kvs = append(kvs, &mvccpb.KeyValue{Key: kv.Key, Value: kv.Value, CreateRevision: kv.CreateRevision, ModRevision: kv.ModRevision, Lease: kv.Lease})
		}
	}
	return kvs
}

func (f *fake) holds(c *etcdserverpb.Compare) bool {
	kvs := f.find(c.Key, c.RangeEnd)
	if len(kvs) == 0 {
		kvs = append(kvs, new(mvccpb.KeyValue))
	}
	return !slices.ContainsFunc(kvs, func(kv *mvccpb.KeyValue) bool {
		got, want := kv.CreateRevision, c.GetCreateRevision()
		if c.Target == etcdserverpb.Compare_MOD {
			got, want = kv.ModRevision, c.GetModRevision()
		}
		order := map[etcdserverpb.Compare_CompareResult]int{etcdserverpb.Compare_LESS: -1, etcdserverpb.Compare_EQUAL: 0, etcdserverpb.Compare_GREATER: 1}
		return cmp.Compare(got, want) != order[c.Result]
	})
}

// read reads a range as it was at a revision. The values are the present ones.
func (f *fake) read(r *etcdserverpb.RangeRequest) *etcdserverpb.RangeResponse {
	kvs := f.find(r.Key, r.RangeEnd)
	for _, d := range f.deleted {
		if r.Revision > 0 && d.revision > r.Revision && within(string(d.kv.Key), r.Key, r.RangeEnd) {
			kvs = append(kvs, d.kv)
		}
	}
	slices.SortFunc(kvs, func(a, b *mvccpb.KeyValue) int {
		if r.SortTarget == etcdserverpb.RangeRequest_CREATE {
			return cmp.Compare(a.CreateRevision, b.CreateRevision)
		}
		return bytes.Compare(a.Key, b.Key)
	})
	resp := &etcdserverpb.RangeResponse{Header: f.header(), Count: int64(len(kvs))}
	for _, kv := range kvs {
		if kv.CreateRevision < r.MinCreateRevision || r.MaxCreateRevision > 0 && kv.CreateRevision > r.MaxCreateRevision {
			continue
		}
		if resp.More = r.Limit > 0 && len(resp.Kvs) == int(r.Limit); resp.More {
			break
		}
		resp.Kvs = append(resp.Kvs, kv)
	}
	return resp
}

// apply applies an operation of a transaction, the writes of which have one revision.
func (f *fake) apply(op *etcdserverpb.RequestOp, revision int64) (*etcdserverpb.ResponseOp, error) {
	switch r := op.Request.(type) {
	case *etcdserverpb.RequestOp_RequestRange:
		return &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: f.read(r.RequestRange)}}, nil
	case *etcdserverpb.RequestOp_RequestPut:
		p := r.RequestPut
		if p.Lease != 0 && f.leases[p.Lease] == nil {
			return nil, rpctypes.ErrGRPCLeaseNotFound
		}
		kv := f.keys[string(p.Key)]
		if kv == nil {
			kv = &mvccpb.KeyValue{Key: p.Key, CreateRevision: revision}
			f.keys[string(p.Key)] = kv
		}
		if kv.Value, kv.ModRevision = p.Value, revision; !p.IgnoreLease {
			kv.Lease = p.Lease
		}
		f.revision = revision
		return &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponsePut{ResponsePut: &etcdserverpb.PutResponse{Header: f.header()}}}, nil
	case *etcdserverpb.RequestOp_RequestDeleteRange:
		kvs := f.find(r.RequestDeleteRange.Key, r.RequestDeleteRange.RangeEnd)
		for _, kv := range kvs {
			f.revision = revision
			f.remove(string(kv.Key))
		}
		return &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponseDeleteRange{
			ResponseDeleteRange: &etcdserverpb.DeleteRangeResponse{Header: f.header(), Deleted: int64(len(kvs))},
		}}, nil
	default:
		t := op.GetRequestTxn()
		resp := &etcdserverpb.TxnResponse{Succeeded: !slices.ContainsFunc(t.Compare, func(c *etcdserverpb.Compare) bool { return !f.holds(c) })}
		then := t.Success
		if !resp.Succeeded {
			then = t.Failure
		}
		for _, op := range then {
			one, err := f.apply(op, revision)
			if err != nil {
				return nil, err
			}
			resp.Responses = append(resp.Responses, one)
		}
		resp.Header = f.header()
		return &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponseTxn{ResponseTxn: resp}}, nil
	}
}

func (f *fake) do(op *etcdserverpb.RequestOp) (*etcdserverpb.ResponseOp, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.apply(op, f.revision+1)
}

func (f *fake) Range(_ context.Context, r *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	resp, err := f.do(&etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestRange{RequestRange: r}})
	return resp.GetResponseRange(), err
}

func (f *fake) Put(_ context.Context, r *etcdserverpb.PutRequest) (*etcdserverpb.PutResponse, error) {
	resp, err := f.do(&etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: r}})
	return resp.GetResponsePut(), err
}

func (f *fake) DeleteRange(_ context.Context, r *etcdserverpb.DeleteRangeRequest) (*etcdserverpb.DeleteRangeResponse, error) {
	resp, err := f.do(&etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestDeleteRange{RequestDeleteRange: r}})
	return resp.GetResponseDeleteRange(), err
}

func (f *fake) Txn(_ context.Context, r *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
	f.mu.Lock()
	f.txn = r
	f.mu.Unlock()
	resp, err := f.do(&etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestTxn{RequestTxn: r}})
	return resp.GetResponseTxn(), err
}

func (f *fake) LeaseGrant(ctx context.Context, r *etcdserverpb.LeaseGrantRequest) (*etcdserverpb.LeaseGrantResponse, error) {
	f.mu.Lock()
	id, ttl := int64(len(f.leases))+f.revision<<8, time.Duration(r.TTL)*time.Second
	f.leases[id] = &fakeLease{ttl, time.Now().Add(ttl), time.AfterFunc(ttl, func() { f.revoke(id) })}
	resp := &etcdserverpb.LeaseGrantResponse{Header: f.header(), ID: id, TTL: r.TTL}
	f.mu.Unlock()
	select {
	case <-time.After(f.pause(false)):
	case <-ctx.Done():
	}
	return resp, nil
}

func (f *fake) LeaseRevoke(_ context.Context, r *etcdserverpb.LeaseRevokeRequest) (*etcdserverpb.LeaseRevokeResponse, error) {
	f.revoke(r.ID)
	return &etcdserverpb.LeaseRevokeResponse{}, nil
}

// pause returns what the answer waits for.
func (f *fake) pause(keepAlive bool) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.delay == nil {
		return 0
	}
	return f.delay(keepAlive)
}

// lost is the delay of a keep-alive that does not arrive.
const lost = -1

// slow sets what the answers to Grant and to keep-alives wait for.
func (f *fake) slow(delay func(keepAlive bool) time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = delay
}

func (f *fake) LeaseKeepAlive(stream grpc.BidiStreamingServer[etcdserverpb.LeaseKeepAliveRequest, etcdserverpb.LeaseKeepAliveResponse]) error {
	f.mu.Lock()
	f.streams++
	number := f.streams
	f.mu.Unlock()
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		pause := f.pause(true)
		if pause == lost {
			continue
		}
		resp := &etcdserverpb.LeaseKeepAliveResponse{ID: r.ID}
		f.mu.Lock()
		resp.Header = f.header()
		l := f.leases[r.ID]
		switch {
		case number <= f.alone:
			resp.Header.RaftTerm, resp.TTL = f.term-1, 20
		case l != nil:
			l.ends = time.Now().Add(l.ttl)
			l.timer.Reset(l.ttl)
			resp.TTL = int64(l.ttl / time.Second)
		}
		f.mu.Unlock()
		time.Sleep(pause)
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
}

// watcher is the Watcher of a client. The client's own has a channel that does not
// belong to a bubble.
type watcher struct {
	clientv3.Watcher

	server *fake
}

// Watch sends the deletions of a key since a revision.
func (w watcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	events, from := make(chan clientv3.WatchResponse), clientv3.OpGet(key, opts...).Rev()
	w.server.mu.Lock()
	if from == 0 { // the watch begins when it arrives
		from = w.server.revision + 1
	}
	refused := w.server.unwatched
	if md, _ := metadata.FromOutgoingContext(ctx); refused {
		w.server.failed = append(w.server.failed, md.Get("distlock-stream")...)
	}
	w.server.mu.Unlock()
	go func() {
		defer close(events)
		if refused {
			events <- clientv3.WatchResponse{Canceled: true}
			return
		}
		for {
			w.server.mu.Lock()
			changed, deaf := w.server.changed, w.server.deaf
			deleted := !deaf && slices.ContainsFunc(w.server.deleted, func(d deletion) bool { return string(d.kv.Key) == key && d.revision >= from })
			w.server.mu.Unlock()
			if deleted {
				select {
				case events <- clientv3.WatchResponse{Events: []*clientv3.Event{{Type: clientv3.EventTypeDelete}}}:
				case <-ctx.Done():
				}
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}
