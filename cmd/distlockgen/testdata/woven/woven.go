// Package woven has a function that a weaver locks.
package woven

import (
	"context"

	"github.com/distlock-go/distlock"
)

var locker *distlock.Locker

//distlock:lock value:pay
func Pay(ctx context.Context) error { return nil }
