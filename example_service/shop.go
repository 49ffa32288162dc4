package main

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
)

// errSoldOut means that the stock is smaller than the order.
var errSoldOut = errors.New("sold out")

// errNoLease is a mistake in the program: a function that needs a lock was called
// without one.
var errNoLease = errors.New("called without a lock")

// shop is the service. HTTP and gRPC only translate to it.
type shop struct {
	store  *store
	ledger *ledger
	think  func(context.Context) error

	lockedPlace distlock.Func[orderRequest, order]
	lockedReset distlock.Func[stockRequest, item]
}

// newShop returns a shop. Its methods take lock for the sku of their request.
//
// The HTTP route and the gRPC method take the same lock before they call a method of
// the shop. The method then re-enters: the key is the same and the context holds it
// already, so the method runs at once. The lock here is the one that matters, because
// all changes of the stock go through it; the outer ones show where else a lock can be,
// and hold it for the whole request.
func newShop(l *distlock.Locker, lock distlock.Opts, s *store, n *ledger, think func(context.Context) error) *shop {
	sh := &shop{store: s, ledger: n, think: think}
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
		// The order was sold with a valid token. If the lock was lost after that, or
		// its release failed, the hooks report it; it does not matter to the buyer.
		return o, nil
	}
	return o, err
}

// placeUnlocked is place without the lock. It shows what the lock prevents.
func (sh *shop) placeUnlocked(ctx context.Context, r orderRequest) (order, error) {
	if err := r.validate(); err != nil {
		return order{}, err
	}
	began := time.Now()
	o, err := sh.sell(ctx, r, nil)
	sh.ledger.ordered(false, r, began, err)
	return o, err
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

// item returns the state of a sale. It does not take a lock: the state may change
// before the caller sees it, with or without a lock.
func (sh *shop) item(ctx context.Context, sku string) (item, error) {
	if err := validateSKU(sku); err != nil {
		return item{}, err
	}
	return sh.store.item(ctx, sku)
}

func (sh *shop) placeUnderLock(ctx context.Context, r orderRequest) (o order, err error) {
	lease, ok := distlock.FromContext(ctx)
	if !ok {
		return order{}, errNoLease
	}
	began := time.Now()
	if err = sh.store.claim(ctx, r.SKU, lease.Token()); err == nil {
		o, err = sh.sell(ctx, r, lease)
	}
	sh.ledger.ordered(true, r, began, err)
	return o, err
}

func (sh *shop) resetUnderLock(ctx context.Context, r stockRequest) (item, error) {
	lease, ok := distlock.FromContext(ctx)
	if !ok {
		return item{}, errNoLease
	}
	if err := sh.store.reset(ctx, r, lease); err != nil {
		return item{}, err
	}
	sh.ledger.reset(r)
	return item{SKU: r.SKU, Stock: r.Stock}, nil
}

// sell reads the stock, thinks, and writes the rest back, in separate steps. A
// concurrent call reads the same stock.
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

// thinkFor returns a function that takes d, or less if the context ends first. Then its
// error is the cause, which is [distlock.ErrLost] for a lost lock.
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
