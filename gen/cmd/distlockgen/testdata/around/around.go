// Package around uses functions that have a lock, with the lock and around it.
package around

import (
	"context"

	"github.com/distlock-go/distlock"
)

type service struct{ locker *distlock.Locker }

type shop struct{ *service }

// reserve calls itself, which is under the lock already.
//
//distlock:lock value:stock param:sku
func (s *service) reserve(ctx context.Context, sku string) error {
	if len(sku) > 1 {
		return s.reserve(ctx, sku[1:])
	}
	return nil
}

//distlock:lock value:sweep
func sweep[T any](ctx context.Context, locker *distlock.Locker, what T) error { return nil }

func (s *shop) right(ctx context.Context, l *distlock.Locker) error {
	go s.Reserve(ctx, "tea") //nolint:errcheck // it is an example
	return Sweep(ctx, l, s.Reserve)
}

func (s *shop) wrong(ctx context.Context, l *distlock.Locker) (all []any, err error) {
	go s.reserve(ctx, "tea")
	defer func() { err = s.service.reserve(ctx, "tea") }()
	return []any{s.reserve, (*service).reserve, sweep[int], sweep(ctx, l, 1)}, nil
}

func (s *shop) allowed(ctx context.Context, l *distlock.Locker) error {
	//distlock:allow the caller holds the lock of all goods
	if err := s.reserve(ctx, "tea"); err != nil {
		return err
	}
	return sweep(ctx, l, 1) //distlock:allow nothing else runs at the start
}

func (s *shop) allowedWrongly(ctx context.Context) error {
	//distlock:allow
	_ = s.reserve(ctx, "tea")
	//distlock:allow the next line has its lock
	return s.Reserve(ctx, "tea")
}

type reserver interface {
	reserve(ctx context.Context, sku string) error
}

// order has methods of that name, and no lock.
type order struct{ reserver }

func (order) sweep() {}

func through[R reserver](ctx context.Context, s *shop, r R) []any {
	order{s}.sweep()
	return []any{reserver(s).reserve, r.reserve(ctx, "tea"), order{s}.reserve}
}
