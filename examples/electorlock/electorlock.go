// Package electorlock is a [resourcelock.Interface]: client-go's elector, which
// controller-runtime uses too, elects its leader on a store of distlock.
//
//	lock, ctx := electorlock.New(ctx, locker, "operator", distlock.Opts{Prefix: "leader:"})
//	mgr, err := manager.New(config, manager.Options{
//		LeaderElection: true, LeaderElectionResourceLockInterface: lock, LeaderElectionReleaseOnCancel: true,
//	})
//	err = errors.Join(mgr.Start(ctx), context.Cause(ctx))
//
// An operator of one cluster has a good lock in its API server. This one is for one leader of
// several clusters, and for a leader that gives a fencing token to what it changes: see
// [Lock.Lease]. Without controller-runtime, [distlock.Locker.Lead] is shorter.
//
// # What differs from a Lease of the API server
//
// The elector keeps a record with a compare-and-swap, and measures times on its own
// clock. Here the record is only what the elector sees of a [distlock.Lease]. The
// elector's question for the record is the attempt to lead, and its update asks the
// store whether the lease is held, and extends it. KeyTimeout takes the place of
// LeaseDuration, also where the leader was killed. OnNewLeader gets the Holder of
// another leader's Config, and of this one its Identity.
//
// # When the leadership is lost
//
// The context that [New] returned ends, with cause [distlock.ErrLost], before another
// may lead. Run the elector or the manager with it: by itself, the elector would notice
// only after RenewDeadline. A Lock that was lost does not lead again, so that the
// elector cannot go on as if nothing had happened: the process ends, as
// controller-runtime demands in any case. Without ReleaseOnCancel, others wait for
// KeyTimeout after the process has ended.
package electorlock

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/wiring"
)

// Lock implements [resourcelock.Interface]. It is safe for concurrent use.
type Lock struct {
	locker   *distlock.Locker
	key      string
	opts     distlock.Opts
	identity string
	lost     context.CancelCauseFunc

	mu    sync.Mutex
	lease *distlock.Lease // it stays when it is lost
}

var _ resourcelock.Interface = (*Lock)(nil)

// New returns a Lock for one elector, and the context to run that with. The key of the
// leader is o.Prefix + key. A candidate asks the store once in a RetryPeriod of the
// elector; with o.MaxWait, for example 10 seconds, it waits in the store's queue
// instead, and leads as soon as the leader has resigned. New panics if o or the key is
// invalid.
func New(ctx context.Context, l *distlock.Locker, key string, o distlock.Opts) (*Lock, context.Context) {
	o.Value = key
	wiring.Bind(l, o)
	if o.MaxWait == 0 {
		o.RetryCount = 1
	}
	host, _ := os.Hostname()
	ctx, lost := context.WithCancelCause(ctx)
	return &Lock{locker: l, key: key, opts: o, identity: host + "_" + uuid.NewString(), lost: lost}, ctx
}

// Lease returns the lease of the leader, with its fencing token. It is nil if this
// process does not lead.
func (l *Lock) Lease() *distlock.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lease
}

// Get is called by the elector to see who leads. If nobody does, the lock is this
// process's from now on, and the record has no holder, so that the elector updates it.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if l.Lease() != nil {
		return l.record(l.identity) // also if it is lost: the elector does not resign after an error
	}
	err := l.acquire(ctx)
	if err == nil {
		return l.record("")
	}
	var other *distlock.HeldError
	if !errors.As(err, &other) || ctx.Err() != nil {
		return nil, nil, err
	}
	return l.record(cmp.Or(other.Holder, "unknown"))
}

// acquire makes an attempt. The elector ends ctx when it leads, and the lock has to
// last.
func (l *Lock) acquire(ctx context.Context) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := context.AfterFunc(ctx, cancel)
	held, err := l.locker.Acquire(lasting, l.key, l.opts)
	if err != nil {
		cancel()
		return err
	}
	if !ended() {
		return errors.Join(ctx.Err(), held.Release(lasting))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease = held
	context.AfterFunc(held.Context(), func() {
		if l.Lease() == held { // it was not released
			l.lost(context.Cause(held.Context()))
		}
	})
	return nil
}

// record returns what the elector sees. It differs each second, because the elector
// takes a lock for free whose record has not changed for its duration.
func (l *Lock) record(holder string) (*resourcelock.LeaderElectionRecord, []byte, error) {
	lasts := cmp.Or(l.opts.KeyTimeout, distlock.DefaultKeyTimeout)
	r := &resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: int(lasts/time.Second) + 1, RenewTime: metav1.Now()}
	raw, err := json.Marshal(r)
	return r, raw, err
}

var errNotLeader = errors.New("electorlock: this process does not lead")

// Update is called by the elector to stay the leader, and without a holder to resign.
func (l *Lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	held := l.Lease()
	switch {
	case held == nil:
		return errNotLeader
	case r.HolderIdentity != "":
		return held.Refresh(ctx)
	}
	if held.Check() == nil {
		l.mu.Lock()
		l.lease = nil
		l.mu.Unlock()
	}
	return held.Release(ctx)
}

// Create is called by the elector if there is no record, which [Lock.Get] never says.
func (l *Lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, r)
}

// RecordEvent does nothing: there is no object for the event. [distlock.Hooks] tell
// more.
func (l *Lock) RecordEvent(string) {}

// Identity returns the name of the host and a UUID.
func (l *Lock) Identity() string { return l.identity }

// Describe returns the key.
func (l *Lock) Describe() string { return l.opts.Prefix + l.key }
