package redistest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/internal/test/redistest"
)

// This test fails if a new version of the simulated server, the client or Go breaks
// virtual time. It shows the cause when all tests that need virtual time fail.
func TestVirtualTime(t *testing.T) {
	wall := time.Now()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		c := redistest.VirtualClient(t, redistest.Virtual(t))

		if err := c.Set(ctx, "k", "v", 3*time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		before := c.Time(ctx).Val()
		time.Sleep(3*time.Hour - time.Millisecond)
		if n := c.Exists(ctx, "k").Val(); n != 1 {
			t.Error("the key ended early")
		}
		time.Sleep(time.Millisecond)
		if n := c.Exists(ctx, "k").Val(); n != 0 {
			t.Error("the key did not end")
		}
		if d := c.Time(ctx).Val().Sub(before); d != 3*time.Hour {
			t.Errorf("the server's clock moved by %v instead of 3h", d)
		}

		sub := c.Subscribe(ctx, "ch")
		defer sub.Close()
		if _, err := sub.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		c.Publish(ctx, "ch", "m")
		if m, err := sub.ReceiveMessage(ctx); err != nil || m.Payload != "m" {
			t.Errorf("got %v, %v instead of the message", m, err)
		}
	})
	if d := time.Since(wall); d > time.Minute {
		t.Errorf("three virtual hours took %v", d)
	}
}
