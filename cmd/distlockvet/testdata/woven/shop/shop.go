// Package shop has a woven function.
package shop

import (
	"context"

	"github.com/distlock-go/distlock"
)

var locker *distlock.Locker

//distlock:lock value:pay
func Pay(ctx context.Context) error { return nil }
