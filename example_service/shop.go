package main

import (
	"context"
	"regexp"
	"time"

	"github.com/distlock-go/distlock"
)

// order is what a buyer asks for.
type order struct {
	SKU      string `json:"-"`
	Buyer    string `json:"buyer"`
	Quantity int    `json:"quantity"`
}

var validSKU = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// validate refuses bad input before a lock is taken.
func (o order) validate() error {
	switch {
	case !validSKU.MatchString(o.SKU):
		return badInput("sku: want 1 to 64 of A-Z a-z 0-9 . _ -, got %q", o.SKU)
	case o.Buyer == "":
		return badInput("buyer: is empty")
	case o.Quantity < 1:
		return badInput("quantity: want at least 1, got %d", o.Quantity)
	}
	return nil
}

// receipt is what a buyer gets.
type receipt struct {
	OrderID   int64  `json:"order_id"`
	SKU       string `json:"sku"`
	Remaining int    `json:"remaining"`
	Token     uint64 `json:"token"` // 0 without the lock
}

// sale is a new sale of an item.
type sale struct {
	SKU   string `json:"-"`
	Stock int    `json:"stock"`
}

func (s sale) validate() error {
	switch {
	case !validSKU.MatchString(s.SKU):
		return badInput("sku: want 1 to 64 of A-Z a-z 0-9 . _ -, got %q", s.SKU)
	case s.Stock < 0:
		return badInput("stock: want 0 or more, got %d", s.Stock)
	}
	return nil
}

// shop is the service. HTTP and gRPC only translate to it.
type shop struct {
	stock stock
	think time.Duration

	lockedSell  distlock.Func[order, receipt]
	lockedStart distlock.Func[sale, item]
}

// newShop returns a shop whose methods take lock for the sku of their request.
//
// The HTTP route and the gRPC method take the same lock before they call a method. The
// method then re-enters: the context holds the key already, so it runs at once. The
// lock here is what matters, because all changes of the stock go through it. The outer
// ones show where else a lock can be.
func newShop(l *distlock.Locker, lock distlock.Opts, s stock, think time.Duration) *shop {
	sh := &shop{stock: s, think: think}
	lock.Params = distlock.By(func(o order) any { return o.SKU })
	sh.lockedSell = distlock.Wrap(l, sh.sell, lock)
	lock.Params = distlock.By(func(s sale) any { return s.SKU })
	sh.lockedStart = distlock.Wrap(l, sh.start, lock)
	return sh
}

// place sells under the lock of the sku.
func (sh *shop) place(ctx context.Context, o order) (receipt, error) {
	if err := o.validate(); err != nil {
		return receipt{}, err
	}
	r, err := sh.lockedSell(ctx, o)
	if r.OrderID != 0 {
		return r, nil // sold with a valid token: a later loss of the lock changes nothing
	}
	return r, err
}

// placeUnlocked sells without the lock. It shows what the lock prevents.
func (sh *shop) placeUnlocked(ctx context.Context, o order) (receipt, error) {
	if err := o.validate(); err != nil {
		return receipt{}, err
	}
	return sh.sell(ctx, o)
}

// reset starts a sale under the lock of the sku.
func (sh *shop) reset(ctx context.Context, s sale) (item, error) {
	if err := s.validate(); err != nil {
		return item{}, err
	}
	return sh.lockedStart(ctx, s)
}

// sell reads the stock, thinks, and writes the rest back. Without a lock, two calls
// read the same stock.
func (sh *shop) sell(ctx context.Context, o order) (receipt, error) {
	token := tokenOf(ctx)
	it, err := sh.stock.get(ctx, o.SKU, token)
	if err != nil {
		return receipt{}, err
	}
	left := it.Stock - o.Quantity
	if left < 0 {
		return receipt{}, errSoldOut
	}
	if err := pause(ctx, sh.think); err != nil {
		return receipt{}, err
	}
	id, err := sh.stock.put(ctx, o.SKU, left, o.Quantity, token)
	if err != nil {
		return receipt{}, err
	}
	return receipt{OrderID: id, SKU: o.SKU, Remaining: left, Token: token}, nil
}

func (sh *shop) start(ctx context.Context, s sale) (item, error) {
	_, err := sh.stock.put(ctx, s.SKU, s.Stock, 0, tokenOf(ctx))
	return item{SKU: s.SKU, Stock: s.Stock}, err
}

// tokenOf returns the fencing token of the lock that ctx holds, or 0 without one.
func tokenOf(ctx context.Context) uint64 {
	lease, ok := distlock.FromContext(ctx)
	if !ok {
		return 0
	}
	return lease.Token()
}

// pause takes d. It ends early if the context ends, and returns the cause:
// distlock.ErrLost if the lock was lost.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
