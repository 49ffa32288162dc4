package main

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
)

// errSoldOut: fewer are left than were ordered.
var errSoldOut = errors.New("sold out")

// errNoLease is a mistake in the program: what must run under a lock ran
// without one.
var errNoLease = errors.New("called without a lock")

// shop is the service: what HTTP and gRPC only translate to.
type shop struct {
	store *store
	think func(context.Context) error

	lockedPlace distlock.Func[orderRequest, order]
	lockedReset distlock.Func[stockRequest, item]
}

// newShop returns a shop whose methods take lock for the sku of their request.
//
// Below the HTTP route and the gRPC method that take the lock too, for the same
// sku, a method re-enters: the key is the same, the context says that it is held
// already, and so the method runs at once. The lock here is the one that counts,
// because there is no way to the stock past it; those above it show where else a
// lock can be, and hold it for all that the route or method does.
func newShop(l *distlock.Locker, lock distlock.Opts, s *store, think func(context.Context) error) *shop {
	sh := &shop{store: s, think: think}
	lock.Params = distlock.By(func(r orderRequest) any { return r.SKU })
	sh.lockedPlace = distlock.Wrap(l, sh.placeUnderLock, lock)
	lock.Params = distlock.By(func(r stockRequest) any { return r.SKU })
	sh.lockedReset = distlock.Wrap(l, sh.resetUnderLock, lock)
	return sh
}

// place sells to the buyer under the lock of the sku.
func (sh *shop) place(ctx context.Context, r orderRequest) (order, error) {
	if err := r.validate(); err != nil {
		return order{}, err
	}
	o, err := sh.lockedPlace(ctx, r)
	if o.ID != 0 {
		// It was sold, and the token was good when it was. If the lock was lost
		// after that, or could not be given back, the hooks tell; to the buyer it
		// makes no difference.
		return o, nil
	}
	return o, err
}

// placeUnlocked is place without the lock: what the lock is there to prevent.
func (sh *shop) placeUnlocked(ctx context.Context, r orderRequest) (order, error) {
	if err := r.validate(); err != nil {
		return order{}, err
	}
	return sh.sell(ctx, r, nil)
}

// reset starts a sale under the lock of the sku.
func (sh *shop) reset(ctx context.Context, r stockRequest) (item, error) {
	if err := r.validate(); err != nil {
		return item{}, err
	}
	it, err := sh.lockedReset(ctx, r)
	if it.SKU != "" {
		return it, nil // as in place
	}
	return it, err
}

// item tells how a sale stands. It takes no lock: what it says may be past
// before it is read, lock or no lock.
func (sh *shop) item(ctx context.Context, sku string) (item, error) {
	if err := validateSKU(sku); err != nil {
		return item{}, err
	}
	return sh.store.item(ctx, sku)
}

func (sh *shop) placeUnderLock(ctx context.Context, r orderRequest) (order, error) {
	lease, ok := distlock.FromContext(ctx)
	if !ok {
		return order{}, errNoLease
	}
	if err := sh.store.claim(ctx, r.SKU, lease.Token()); err != nil {
		return order{}, err
	}
	return sh.sell(ctx, r, lease)
}

func (sh *shop) resetUnderLock(ctx context.Context, r stockRequest) (item, error) {
	lease, ok := distlock.FromContext(ctx)
	if !ok {
		return item{}, errNoLease
	}
	if err := sh.store.reset(ctx, r, lease); err != nil {
		return item{}, err
	}
	return item{SKU: r.SKU, Stock: r.Stock}, nil
}

// sell reads the stock, thinks, and writes back what is left, in so many steps.
// Whoever does that at the same time reads the same stock.
func (sh *shop) sell(ctx context.Context, r orderRequest, lease *distlock.Lease) (order, error) {
	stock, err := sh.store.stock(ctx, r.SKU)
	if err != nil {
		return order{}, err
	}
	if stock < r.Quantity {
		return order{}, errSoldOut
	}
	if err := sh.think(ctx); err != nil {
		return order{}, err
	}
	o := order{SKU: r.SKU, Remaining: stock - r.Quantity}
	if lease != nil {
		o.Token = lease.Token()
	}
	o.ID, err = sh.store.sell(ctx, sale{orderRequest: r, remaining: o.Remaining, lease: lease})
	if err != nil {
		return order{}, err
	}
	return o, nil
}

// thinkFor returns what takes d, unless the context ends first. Then the error
// says why, which for a lost lock is [distlock.ErrLost].
func thinkFor(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
