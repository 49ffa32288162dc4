package shop

import (
	"context"
	. "io"

	"github.com/distlock-go/distlock"
)

// Store is generic.
type Store[K comparable, V any] struct {
	lockers []*distlock.Locker
}

func (s *Store[K, V]) Locker(k K) *distlock.Locker { return s.lockers[0] }

//distlock:lock value:put paramLock locker:s.Locker(k)
func (s *Store[K, V]) put(ctx context.Context, k K, v V) (old V, err error) { return v, nil }

//distlock:lock value:read key:EOF.Error()
func read(ctx Ctx, from Reader) (Writer, error) { return nil, nil }

type Ctx = context.Context

// Payer is an interface with annotated methods.
type Payer interface {
	Closer

	// Pay pays.
	//
	//distlock:lock prefix:shop: value:pay param:orderID
	Pay(ctx context.Context, userID string, orderID int64) (Receipt, error)

	//distlock:lock value:refund key:len(userID)
	Refund(_ context.Context, userID string) error

	Status(orderID int64) string
}

type cache[K comparable] interface {
	//distlock:lock value:fill paramLock as:Cache
	Fill(context.Context, K) error
}

// callers calls generated code.
func callers(s *Service, st *Store[string, int], p Payer) error {
	ctx := context.Background()
	_, _ = s.Pay(ctx, "u", 1)
	_, _ = st.Put(ctx, "k", 1)
	_, _ = Generic(ctx, 1, "x")
	return NewLockedPayer(p, s.locker).Refund(ctx, "u")
}
