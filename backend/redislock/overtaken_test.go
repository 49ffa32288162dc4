package redislock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// scriptCall matches a call of any script, for a network that delays one.
func scriptCall(written []byte) bool { return bytes.Contains(written, []byte("evalsha")) }

// An abandoned acquisition arrives late. If its owner has released meanwhile, it must not
// take the key, nor a place in the queue. If its owner has tried again, it is a repeat, and
// changes nothing.
func TestVirtualOvertakenAcquire(t *testing.T) {
	for _, queue := range []bool{false, true} {
		for _, again := range []bool{false, true} {
			testkit.InBubble(t, fmt.Sprintf("queue=%v,again=%v", queue, again), func(t *testing.T) {
				m := redistest.Virtual(t)
				c, n := overNetwork(t, m)
				b := newBackend(t, c)
				mustRelease(t, b, mustTry(t, b, request(lockKey))) // the server has the scripts
				attempt := b.TryAcquire
				if queue {
					attempt = b.Enqueue
				}
				r := request(lockKey)
				n.HoldAt(scriptCall)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(20*time.Millisecond, cancel) // before it is sent again
				if _, err := attempt(ctx, r); !errors.Is(err, context.Canceled) || n.Held() != 1 || b.InDoubt() != 1 {
					t.Fatalf("%v, %d requests on their way, %d owners in doubt", err, n.Held(), b.InDoubt())
				}

				g := r.Grant()
				if again {
					g = must(b.Enqueue(t.Context(), r))
				} else {
					mustRelease(t, b, g)
				}
				noError(t, n.Deliver())
				synctest.Wait()
				if again {
					if late, err := b.TryAcquire(t.Context(), r); err != nil || late.Token != g.Token || late.LastToken != g.LastToken {
						t.Errorf("%+v, %v instead of %+v", late, err, g)
					}
					mustRelease(t, b, g)
				}
				if m.Exists(lockKey) || m.Exists(queueKey) {
					t.Errorf("left behind: %q", m.Keys())
				}
				if n := b.InDoubt(); n != 0 {
					t.Errorf("%d owners in doubt", n)
				}
			})
		}
	}
}

// An attempt is on its way when its connection breaks, and the client repeats it. The first
// copy arrives when its owner has left and the holder has released. It does not take the key:
// the owner would not learn of it, and nobody would release it before its lease ends.
func TestVirtualLateCopyTakesNothing(t *testing.T) {
	for mode, ask := range modes {
		for _, outcome := range []string{"refused", "released", "abandoned"} {
			testkit.InBubble(t, mode+"/"+outcome, func(t *testing.T) {
				m := redistest.Virtual(t)
				c, n := overNetwork(t, m)
				b, other := newBackend(t, c), newBackend(t, redistest.VirtualClient(t, m))
				mustRelease(t, b, mustTry(t, b, request(lockKey))) // the server has the scripts
				var held driver.Grant
				if outcome != "released" {
					held = mustTry(t, other, request(lockKey))
				}
				r := ask(lockKey)
				n.HoldAt(scriptCall)
				w := testkit.StartWaiter(t, b, r)
				synctest.Wait()
				n.Break()
				time.Sleep(100 * time.Millisecond)
				if outcome != "released" {
					w.Cancel()
				}
				<-w.Done
				if n.Held() != 1 || (w.Err == nil) != (outcome == "released") {
					t.Fatalf("%v, %d requests on their way", w.Err, n.Held())
				}
				if err := b.Release(t.Context(), r.Grant()); err != nil && !errors.Is(err, driver.ErrLost) {
					t.Errorf("release: %v", err)
				}
				if outcome != "released" {
					mustRelease(t, other, held)
				}
				mustRelease(t, other, mustTry(t, other, ask(lockKey)))

				noError(t, n.Deliver())
				synctest.Wait()
				if m.Exists(lockKey) || m.Exists(queueKey) {
					t.Errorf("left behind: %q", m.Keys())
				}
				if left := m.TTL(goneKey); left <= 0 {
					t.Errorf("the tombstone ends in %v", left)
				}
			})
		}
	}
}
