package testkit

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Queue is a backend with a queue.
type Queue interface {
	driver.Backend
	driver.Queuer
}

// Contend lets three processes, each with a Backend of its own, take turns at a key, and disturbs
// them when they have had some. Never do two have the key at the same time, tokens rise, and all
// have all their turns: attempts without an answer are repeated.
func Contend(t *testing.T, key string, open func() Queue, disturb func()) {
	t.Helper()
	const processes, turns = 3, 40
	var r Register
	var all sync.WaitGroup
	for range processes {
		b := open()
		all.Go(func() {
			for range turns {
				takeTurn(t, b, key, &r)
			}
		})
	}
	Eventually(t, "they take turns", func() bool { return r.Uses() > turns })
	disturb()
	all.Wait()
	if n := r.Uses(); n != processes*turns {
		t.Errorf("%d turns of %d", n, processes*turns)
	}
}

func takeTurn(t *testing.T, b Queue, key string, r *Register) {
	t.Helper()
	req, ctx := NewRequest(key), context.WithoutCancel(t.Context())
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); {
		if g, err := Await(ctx, b, req, Looks{Every: time.Second}); err == nil {
			r.Enter(t, key, g.Token)
			r.Leave(key, g.Token)
			_ = b.Release(ctx, g) // continues in the background after an error
			return
		}
	}
	t.Error("no turn in time")
}
