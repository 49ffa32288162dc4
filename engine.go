package distlock

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/localqueue"
)

// engine is what the leases and acquisitions of one Locker share.
type engine struct {
	backend  driver.Backend
	queuer   driver.Queuer   // backend, if it has the ability
	extender driver.Extender // the same
	waker    driver.Waker    // the same
	revoker  driver.Revoker  // the same
	features driver.Features
	cfg      Config
	queue    *localqueue.Queue[*leaseState]
	watchdog *watchdog
	life     *lifetime
	leases   leaseList
	releaser *releaser
	reports  sync.Pool          // of *waitReport
	stop     context.CancelFunc // ends what the watchdog and the releaser have in progress

	ownerSuffix string // "@" and Config.Holder, or nothing
}

func (e *engine) init(b driver.Backend, cfg Config) {
	ctx, stop := context.WithCancel(context.Background()) //nolint:forbidigo // belongs to no call: ended by Close
	e.backend, e.cfg, e.features, e.stop = b, cfg, b.Features(), stop
	e.queue = localqueue.New[*leaseState](maxKeys, cfg.MaxWaiters)
	e.life = newLifetime()
	e.leases.init()
	e.watchdog = newWatchdog(ctx, b, &cfg.Hooks)
	e.watchdog.ended = e.letGo
	e.releaser = newReleaser(ctx, b, e.life)
	if cfg.Holder != "" {
		e.ownerSuffix = "@" + cfg.Holder
	}
	e.queuer, _ = b.(driver.Queuer)
	e.extender, _ = b.(driver.Extender)
	e.waker, _ = b.(driver.Waker)
	e.revoker, _ = b.(driver.Revoker)
}

// close is Locker.Close.
func (e *engine) close() error {
	if !e.life.close() {
		return nil
	}
	leases := e.leases.close()
	e.queue.Close()
	for _, st := range e.watchdog.watched() {
		_ = st.Lose(errClosed)
	}
	for _, s := range leases {
		s.cancel(errClosed)
	}
	timer := time.NewTimer(e.cfg.CloseTimeout)
	defer timer.Stop()
	select {
	case <-e.life.idle:
		timer.Reset(cleanupTimeout)
		select {
		case <-e.life.clean:
		case <-timer.C:
		}
	case <-timer.C:
		e.releaseAll()
	}
	e.stop()
	e.watchdog.done.Wait()
	if c, ok := e.backend.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

var errClosed = fmt.Errorf("%w: %w", ErrLost, ErrClosed)
