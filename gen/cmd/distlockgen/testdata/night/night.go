//distlock:defaults prefix:night: keyTimeout:5s maxWait:3s mode:shared locker:locks noReentry

// Package night has defaults for all its locks.
package night

import (
	"context"

	"github.com/distlock-go/distlock"
)

var locks *distlock.Locker

//distlock:lock value:common
func common(ctx context.Context) error { return nil }

//distlock:lock prefix:day: value:own keyTimeout:1m maxWait:0s mode:exclusive noReentry:false permits:2 locker:locker(id) param:id
func own(ctx context.Context, id int) error { return nil }

func locker(int) *distlock.Locker { return locks }
