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
// them when each has had some. Never do two have the key at the same time, tokens rise, and all
// have all their turns: attempts without an answer are repeated.
func Contend(t *testing.T, key string, open func() Queue, disturb func()) {
	t.Helper()
	const processes, before, after = 3, 15, 25
	var r Register
	var all, half sync.WaitGroup
	halfway := make(chan struct{})
	half.Add(processes)
	for range processes {
		b := open()
		all.Go(func() {
			for range before {
				turn(t, b, key, &r)
			}
			half.Done()
			<-halfway
			for range after {
				turn(t, b, key, &r)
			}
		})
	}
	half.Wait()
	close(halfway)
	disturb()
	all.Wait()
	if n := r.Uses(); n != processes*(before+after) {
		t.Errorf("%d turns of %d", n, processes*(before+after))
	}
}

func turn(t *testing.T, b Queue, key string, r *Register) {
	t.Helper()
	req := NewRequest(key)
	for deadline := time.Now().Add(Patience); ; {
		req.Backoff = driver.NewBackoff(time.Second, 0)
		g, err := b.Acquire(context.WithoutCancel(t.Context()), req)
		if err == nil {
			r.Enter(t, key, g.Token)
			r.Leave(key, g.Token)
			_ = b.Release(context.WithoutCancel(t.Context()), g) // continues in the background after an error
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("Acquire: %v", err)
			return
		}
	}
}
