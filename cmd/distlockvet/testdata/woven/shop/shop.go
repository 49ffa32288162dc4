// Package shop has a woven function.
package shop

import "context"

//distlock:lock value:pay
func Pay(ctx context.Context) error { return nil }
