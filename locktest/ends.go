package locktest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
)

// callersEnd ends the callers of a Locker while the servers are silent.
func callersEnd(p *process) {
	over, n := p.overNetwork()
	waiting, why := make(chan struct{}), errors.New("the caller's reason")
	waits := sync.OnceFunc(func() { close(waiting) })
	l := locker(p, over.backend, distlock.Config{Hooks: distlock.Hooks{Event: func(_ context.Context, e distlock.Event) {
		if e.Kind == distlock.Waiting {
			waits()
		}
	}}})
	acquire := func(ctx context.Context, key string) (*distlock.Lease, error) {
		return l.Acquire(ctx, key, distlock.Opts{KeyTimeout: long})
	}
	key := p.key()
	lease, err := acquire(p.Context(), key)
	if err != nil {
		p.Fatalf("Acquire of a free key: %v", err)
	}
	cancelled, cancel := context.WithCancelCause(p.Context())
	var all sync.WaitGroup
	use := func(ctx context.Context, what string, code distlock.Code, f func(ctx context.Context) error) {
		all.Go(func() { p.mustExplain(ctx, n, f(ctx), what, code) })
	}
	held, _ := p.hold(long)
	use(cancelled, "Acquire of a held key", distlock.CodeNotAcquired, func(ctx context.Context) error { _, err := acquire(ctx, held); return err })
	<-waiting
	n.faults.Hang(true)
	start := time.Now()
	late, stop := context.WithTimeoutCause(p.Context(), p.Lease/4, why)
	defer stop()
	time.AfterFunc(p.Lease/4, func() { cancel(why) })
	for _, ctx := range []context.Context{late, cancelled} {
		for what, f := range map[string]func(ctx context.Context) error{
			"Acquire":         func(ctx context.Context) error { _, err := acquire(ctx, p.key()); return err },
			"Refresh":         lease.Refresh,
			"Inspect":         func(ctx context.Context) error { _, err := admin.Inspect(ctx, l, key, 1); return err },
			"Inspect of many": func(ctx context.Context) error { _, err := admin.Inspect(ctx, l, "", 9); return err },
			"ForceRelease":    func(ctx context.Context) error { _, err := admin.ForceRelease(ctx, l, held); return err },
			"Revoke":          func(ctx context.Context) error { _, err := admin.Revoke(ctx, l, held); return err },
			"Ping":            func(ctx context.Context) error { return admin.Ping(ctx, l) },
		} {
			use(ctx, what, distlock.CodeUnavailable, f)
		}
	}
	all.Wait()
	if d := time.Since(start); d > p.Lease/4+p.soon() {
		p.Errorf("the callers returned %v after the servers became silent, and ended after %v", d, p.Lease/4)
	}
	p.mustExplain(p.Context(), n, lease.Release(p.Context()), "Release", distlock.CodeUnavailable)
	n.heal()
}

// mustExplain checks the error of a caller that may have ended while the servers were silent.
func (p *process) mustExplain(ctx context.Context, n *Network, err error, what string, code distlock.Code) {
	p.Helper()
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	told := distlock.CodeOf(err) == code && (code != distlock.CodeUnavailable || p.NoAddress || n.isIn(err.Error()))
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		told = told && errors.Is(err, end) == (ctx.Err() == end) //nolint:errorlint // that very value
	}
	if cause := context.Cause(ctx); !told || cause != nil && !errors.Is(err, cause) {
		p.Errorf("%s: the context has ended with %v: %v, want %v and the address (caslock.Store: by String) in the error %v", what, ctx.Err(), cause, code, err)
	}
}

// isIn reports whether the text has an address to which the network has connections.
func (n *Network) isIn(text string) (found bool) {
	n.addrs.Range(func(addr, _ any) bool {
		found = strings.Contains(text, strings.TrimSuffix(addr.(string), ":80")) //nolint:forcetypeassert // a set
		return !found
	})
	return found
}
