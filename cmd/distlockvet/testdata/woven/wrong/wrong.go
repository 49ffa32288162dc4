// Package wrong has directives that a weaver would ignore or treat in another way.
package wrong

import "context"

//distlock:lock prefix:shop:	value:pay
func Pay(ctx context.Context) error { return nil }

type Shop struct{ lock string }

//distlock:lock value:pay as:Paid
func (s *Shop) Pay(ctx context.Context) error { return nil }

//distlock:lock value:pay locker:s.lock
func (s *Shop) Refund(ctx context.Context) error { return nil }
