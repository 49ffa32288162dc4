// Package woven has a function that a weaver locks.
package woven

import "context"

//distlock:lock value:pay
func Pay(ctx context.Context) error { return nil }
