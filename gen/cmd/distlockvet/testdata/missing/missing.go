// Package missing has directives without generated code, or with code written by hand.
package missing

import (
	"context"

	"github.com/distlock-go/distlock"
)

type service struct{ locker *distlock.Locker }

//distlock:lock value:pay
func (s *service) pay(ctx context.Context) error { return nil }

//distlock:lock value:refund
func (s *service) refund(ctx context.Context) error { return nil }

func (s *service) Refund(ctx context.Context) error { return s.refund(ctx) }

type payer interface {
	//distlock:lock value:pay
	Pay(ctx context.Context) error
}
