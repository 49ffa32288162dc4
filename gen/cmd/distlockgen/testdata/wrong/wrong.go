// Package wrong has directives with errors.
package wrong

import (
	"context"

	"github.com/distlock-go/distlock"
)

type service struct {
	locker *distlock.Locker
	nolock int
}

var locker *distlock.Locker

type request struct{ ID int }

//distlock:lock value:a valu:b
func (s *service) unknownOption(ctx context.Context) error { return nil }

//distlock:lock prefix:shop:
func (s *service) noValue(ctx context.Context) error { return nil }

//distlock:lock value:a
func (s *service) noContext(id int) error { return nil }

//distlock:lock value:a
func (s *service) noError(ctx context.Context) (error, int) { return nil, 0 }

//distlock:lock value:a param:id param:ctx
func (s *service) noParam(ctx context.Context, orderID int) error { return nil }

//distlock:lock value:a key:r.Nope.ID
func (s *service) badKey(ctx context.Context, r request) error { return nil }

//distlock:lock value:a paramLock
func (s *service) unkeyable(ctx context.Context, f func()) error { return nil }

//distlock:lock value:a paramLock
func (s *service) nothing(ctx context.Context) error { return nil }

//distlock:lock value:a locker:s.nolock
func (s *service) notALocker(ctx context.Context) error { return nil }

type bare struct{}

//distlock:lock value:a
func (b bare) noLocker(ctx context.Context) error { return nil }

//distlock:lock value:a hasher:42 paramLock
func (s *service) noHasher(ctx context.Context, id int) error { return nil }

//distlock:lock value:a keyFormat:locker paramLock
func (s *service) noFormat(ctx context.Context, id int) error { return nil }

//distlock:lock value:a
func (s *service) Exported(ctx context.Context) error { return nil }

//distlock:lock value:a
//distlock:lock value:b
func (s *service) doubled(ctx context.Context) error { return nil }

// distlock:lock value:a
func (s *service) spaced(ctx context.Context) error { return nil }

//distlock:lok value:a
func (s *service) misspelt(ctx context.Context) error { return nil }

//distlock:lock value:a
type misplaced struct{}

type opaque struct{ id int }

//distlock:lock value:a param:o
func (s *service) onlyUnexported(ctx context.Context, o opaque) error { return nil }

// Pasted from Java.
//
//	@DistributedLock(prefix = "shop:", value = "reserve", paramLock = true)
func (s *service) Pasted(ctx context.Context, sku string) error { return nil }

//distlock:lock value:elsewhere key:nowhere.Name(sku)
func (s *service) noPackage(ctx context.Context, sku string) error { return nil }

type payer interface {
	//distlock:lock value:a locker:l
	Pay(ctx context.Context, id int) error

	//distlock:lock value:b as:A
	Refund(ctx context.Context, id int) error

	//distlock:lock value:c as:B
	Cancel(ctx context.Context, id int) int
}
