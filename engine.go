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

func (eng *engine) init(b driver.Backend, cfg Config) {
	ctx, stop := context.WithCancel(context.Background()) //nolint:forbidigo // belongs to no call: ended by Close
	eng.backend, eng.cfg, eng.features, eng.stop = b, cfg, b.Features(), stop
	eng.queue = localqueue.New[*leaseState](maxKeys, cfg.MaxWaiters)
	eng.life = newLifetime()
	eng.leases.init()
	eng.watchdog = newWatchdog(ctx, b, &cfg.Hooks)
	eng.watchdog.ended = eng.letGo
	eng.releaser = newReleaser(ctx, b, eng.life)
	if cfg.Holder != "" {
		eng.ownerSuffix = "@" + cfg.Holder
	}
	eng.queuer, _ = b.(driver.Queuer)
	eng.extender, _ = b.(driver.Extender)
	eng.waker, _ = b.(driver.Waker)
	eng.revoker, _ = b.(driver.Revoker)
}

// close is Locker.Close.
func (eng *engine) close() error {
	if !eng.life.close() {
		return nil
	}
	eng.queue.Close()
	for _, st := range eng.watchdog.watched() {
		_ = st.Lose(errClosed)
	}
	for _, s := range eng.leases.all() { // one that comes later sees that the Locker is closed
		s.cancel(errClosed)
	}
	timer := time.NewTimer(eng.cfg.CloseTimeout)
	defer timer.Stop()
	select {
	case <-eng.life.idle:
		timer.Reset(cleanupTimeout)
		select {
		case <-eng.life.clean:
		case <-timer.C:
		}
	case <-timer.C:
		eng.releaseAll()
	}
	eng.stop()
	eng.watchdog.done.Wait()
	if c, ok := eng.backend.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

var errClosed = fmt.Errorf("%w: %w", ErrLost, ErrClosed)
