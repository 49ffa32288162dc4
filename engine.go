package distlock

import (
	"context"
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
	eng.watchdog = &watchdog{
		backend: b, ended: eng.letGo, tell: cfg.Hooks.Event != nil, now: time.Now, epoch: time.Now(),
		wake: make(chan struct{}, 1), ctx: ctx,
	}
	eng.releaser = newReleaser(ctx, b, eng.life)
	if cfg.Holder != "" {
		eng.ownerSuffix = "@" + cfg.Holder
	}
	eng.queuer, _ = b.(driver.Queuer)
	eng.extender, _ = b.(driver.Extender)
	eng.waker, _ = b.(driver.Waker)
	eng.revoker, _ = b.(driver.Revoker)
}

// letGo releases the key of a lease that MaxHold has ended, although its function may go on:
// in this process the key stays closed until that returns, in others it is free.
func (eng *engine) letGo(st *leaseState) {
	if eng.life.begin() {
		defer eng.life.done()
		eng.releaser.settleLater(st.LastGrant(), time.Time{})
	}
}
