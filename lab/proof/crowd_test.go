package proof_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// tooMany is the number of callers beyond the limit.
const tooMany = 10

// beCrowd starts as many waiters as the limit allows, and tooMany more. Each waiter
// that gets the key writes to the register.
func beCrowd(t *task) error {
	o := distlock.Opts{KeyTimeout: t.Lease}
	before := inUse()
	idle := runtime.NumGoroutine()
	var all sync.WaitGroup
	var served, refused, wrong atomic.Int64
	full := make(chan struct{})
	for range t.Waiters + tooMany {
		all.Go(func() {
			err := t.Do(context.Background(), key, o, func(ctx context.Context) error {
				s, _ := distlock.FromContext(ctx)
				return t.visit(s.Token())
			})
			switch {
			case err == nil:
				served.Add(1)
			case testkit.Kinds(err) == "queue-full":
				if refused.Add(1) == tooMany {
					close(full) // so all others wait
				}
			default:
				wrong.Add(1)
				t.Say("wrong", err)
			}
		})
	}
	<-full
	t.Say("waiting", (inUse()-before)/int64(t.Waiters))
	all.Wait()
	t.Say("served", served.Load(), refused.Load(), wrong.Load(), runtime.NumGoroutine()-idle, inUse()-before)
	t.Hear()
	return nil
}

// visit writes to the register, if there is one, and checks that no other holder has
// written meanwhile.
func (t *task) visit(token uint64) error {
	if t.register == nil {
		return nil
	}
	for _, reads := range []bool{false, true} {
		u := testkit.Use{Key: key, Token: token, Reads: reads}
		ok, err := t.register.Use(u)
		if err == nil && !ok {
			err = fmt.Errorf("the register refuses %+v", u)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inUse returns the number of bytes in use.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // the second collection empties the pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse) //nolint:gosec // it fits
}
