package await_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
)

// A grant that arrives when its lease is over is not taken: the waiter asks again.
func TestStaleGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, turn, asked := driver.Request{Key: "k", Owner: "o", TTL: time.Second}, make(chan driver.Grant, 1), 0
		turn <- driver.Grant{Owner: "o", TTL: r.TTL, Sent: time.Now().Add(-r.TTL)}
		g, err := await.Grant(t.Context(), await.Backend{
			Ask: func(context.Context, driver.Request) (driver.Grant, error) {
				if asked++; asked == 1 {
					return driver.Grant{}, driver.ErrNotAcquired
				}
				return driver.Grant{Owner: "o", TTL: r.TTL, Sent: time.Now()}, nil
			},
			Turn: func(context.Context, driver.Request) <-chan driver.Grant { return turn },
		}, r, await.Looks{})
		if err != nil || asked != 2 || !await.Running(g.Sent, g.TTL) {
			t.Errorf("asked %d times: %+v, %v", asked, g, err)
		}
	})
}
