package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

const (
	// askEvery is how often the monitor asks the store of the locks.
	askEvery = time.Second

	// askFor is how long it waits for an answer. The backends wait for a second; their
	// errors contain the address and the cause.
	askFor = 2 * time.Second

	// patience is how long the store may be unavailable before orders are refused at
	// once. Until then they wait as they wait for a lock, because a failover takes that
	// long.
	patience = 3 * time.Second
)

// monitor knows whether the store of the locks answers. It pings the store itself, so
// health checks do not pile up behind a store that hangs: they read the last result.
// The log gets one line when locks become unavailable, and one line when they are
// available again, however many requests come in between.
type monitor struct {
	ping  func(context.Context) error // of the Locker
	log   *slog.Logger
	serve func(healthy bool) // told after each answer

	mu      sync.Mutex
	err     error     // of the last ping; nil: the store has answered
	well    time.Time // when locks were last available
	trouble bool      // the log says that locks are unavailable
	recent  error     // the failure of a request since the last ping
	refused int       // requests without a lock, since locks were last available
	kept    int       // locks that could not be given back
}

func newMonitor(log *slog.Logger) *monitor {
	return &monitor{log: log, serve: func(bool) {}, well: time.Now()}
}

// start starts the monitor. The returned function stops it and waits for the last
// answer.
func (m *monitor) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // requests outlive ctx
	var asking sync.WaitGroup
	asking.Go(func() {
		tick := time.NewTicker(askEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			m.ask(ctx)
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return func() {
		cancel()
		asking.Wait()
	}
}

// ask pings the store once. Locks are unavailable if the store does not answer, or if
// it answers but refuses locks: it may be out of memory, or a replica.
func (m *monitor) ask(ctx context.Context) {
	asked := time.Now()
	limited, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	err := m.ping(limited)
	switch {
	case ctx.Err() != nil:
		return // the shop is closed
	case errors.Is(err, errors.ErrUnsupported):
		err = nil // a backend that cannot be asked
	case err != nil && !errors.Is(err, distlock.ErrUnavailable):
		err = fmt.Errorf("%w: %w", distlock.ErrUnavailable, err)
	}
	m.serve(err == nil)

	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
	if err == nil {
		err = m.recent
	}
	m.recent = nil
	switch {
	case err == nil && m.trouble:
		m.log.Info("locks are available again", "after", time.Since(m.well).Round(time.Millisecond),
			"requests_refused", m.refused, "locks_not_released", m.kept)
	case err != nil && !m.trouble:
		m.log.Error("locks are unavailable", "since", m.well, "err", err)
	}
	m.trouble = err != nil
	if err == nil {
		m.well, m.refused, m.kept = asked, 0, 0
	}
}

// health returns nil if the store answered the last ping.
func (m *monitor) health() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// admit returns the context of an acquisition. If the store has been unavailable for
// longer than patience, the context has already ended, which ends the acquisition. A
// holder of a lock may continue under it.
func (m *monitor) admit(ctx context.Context) context.Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, holds := distlock.FromContext(ctx); holds || m.err == nil || time.Since(m.well) < patience {
		return ctx
	}
	ctx, cancel := context.WithCancelCause(ctx)
	cancel(m.err)
	return ctx
}

// hooks returns hooks that report the outcome of requests to the monitor, and that stop
// requests that would wait in vain.
func (m *monitor) hooks() distlock.Hooks {
	return distlock.Hooks{
		Start:    func(ctx context.Context, _ distlock.StartInfo) context.Context { return m.admit(ctx) },
		Failed:   func(_ context.Context, i distlock.FailedInfo) { m.count(i.Err, &m.refused) },
		Released: func(_ context.Context, i distlock.ReleasedInfo) { m.count(i.Err, &m.kept) },
	}
}

// count counts failures that the store caused.
func (m *monitor) count(err error, n *int) {
	if !errors.Is(err, distlock.ErrUnavailable) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recent = err
	*n++
}
