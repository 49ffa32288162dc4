package testkit

import (
	"context"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
)

// Looks says when a waiter looks by itself.
type Looks = await.Looks

// Await waits for a key of a backend as a Locker does.
func Await(ctx context.Context, q driver.Queuer, r driver.Request, looks Looks) (driver.Grant, error) {
	return await.Grant(ctx, await.Backend{Ask: q.Enqueue, Turn: q.Turn}, r, looks)
}
