package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// keep renews a grant so that the key is kept for a time.
func (v *virtual) keep(t *testing.T, g driver.Grant, d time.Duration) {
	t.Helper()
	g.TTL, g.Retain = d, true
	testkit.MustRenew(t, v, g)
}

// TestKeptKey: a key that is kept for 25 s is refused and waited for in other processes
// for that time, whatever becomes of the process, and is free then, for the first waiter
// at once.
func TestKeptKey(t *testing.T) {
	for name, end := range map[string]func(v *virtual){
		"closed":       func(v *virtual) { _ = v.Close() },
		"dead":         func(v *virtual) { v.network.Hang(true) },
		"running":      func(*virtual) {},
		"next session": (*virtual).newSession,
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				other := newVirtual(t, v.server)
				mustWork(t, other.Backend, "other")
				r := named("key", "web-3/1432")
				g := testkit.MustTry(t, v, r)
				v.keep(t, g, 25*time.Second)
				start := time.Now()
				if _, err := v.Extend(t.Context(), g, 4); !errors.Is(err, driver.ErrNotAcquired) {
					t.Errorf("Extend by an owner that is done: %v", err)
				}
				end(v)
				_, err := other.TryAcquire(t.Context(), testkit.NewRequest("key"))
				if held, ok := errors.AsType[*driver.HeldError](err); !ok || held.Holder != "web-3/1432" || held.RetryAfter > 26*time.Second || held.RetryAfter < 24*time.Second {
					t.Errorf("TryAcquire: %#v", err)
				}
				if infos, err := other.Inspect(t.Context(), "key", 1); err != nil || len(infos) != 1 || infos[0].Holders[0].Holder != "web-3/1432" || infos[0].Holders[0].ExpiresIn > 26*time.Second {
					t.Errorf("Inspect: %+v, %v", infos, err)
				}
				if held, err := other.Revoke(t.Context(), "key"); !held || err != nil { // it has no effect
					t.Errorf("Revoke: %v, %v", held, err)
				}
				w := testkit.StartWaiter(t, other, testkit.NewRequest("key"))
				time.Sleep(24 * time.Second)
				w.MustWait(t)
				testkit.MustBeBusy(t, other, "key")
				next := w.Served(t)
				if d := time.Since(start); d < 25*time.Second || d > 26*time.Second {
					t.Errorf("served after %v", d)
				}
				testkit.MustRelease(t, other, next)
				v.mustBeEmpty(t, "key")
			})
		})
	}
}

// TestKeptInFrontOfOthers: a program that deletes nothing waits for a node that is
// over. A waiter behind it, which has come before the key was kept, deletes the node,
// and so does an attempt, and not before the end.
func TestKeptInFrontOfOthers(t *testing.T) {
	for _, queued := range []bool{true, false} {
		t.Run(fmt.Sprintf("queued: %v", queued), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				other := newVirtual(t, v.server)
				g := testkit.MustTry(t, v, testkit.NewRequest("key"))
				v.server.Add(parentOf("key") + "/_c_" + guid + "-lock-")
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					r := testkit.NewRequest("key")
					for queued && ctx.Err() == nil {
						_, _ = testkit.Await(ctx, other, r, testkit.Looks{Every: time.Second})
					}
				}()
				time.Sleep(2 * time.Second)
				v.keep(t, g, 25*time.Second)
				start, deleted := time.Now(), new(atomic.Int64)
				v.server.On(opDelete, func(node string) fate {
					if strings.Contains(node, "-kept-") {
						deleted.Store(int64(time.Since(start)))
					}
					return served
				})
				_ = v.Close()
				if _, err := v.TryAcquire(t.Context(), testkit.NewRequest("closed")); !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("after Close: %v", err)
				}
				for range 14 {
					time.Sleep(2 * time.Second)
					if !queued {
						testkit.MustBeBusy(t, other, "key")
					}
				}
				if over := time.Duration(deleted.Load()); over < 25*time.Second || over > 27*time.Second {
					t.Errorf("the node was deleted after %v", over)
				}
				cancel()
				<-ended
			})
		})
	}
}

// TestKeepWithoutAnswer: the answer to the request that keeps a key is lost, or the
// request is. The next one succeeds, and the key is kept once. A release instead leaves
// nothing, even if the deletion has no answer either.
func TestKeepWithoutAnswer(t *testing.T) {
	for name, answer := range map[string]fate{"answer lost": muted, "request lost": dropped} {
		for _, again := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, v *virtual) {
					g := testkit.MustTry(t, v, testkit.NewRequest("key"))
					spoil := func(spoilt int32, call func() error) {
						t.Helper()
						v.server.On(spoilt, func(string) fate { return answer })
						if err := call(); err == nil {
							t.Error("without an answer there is no error")
						}
						v.server.ServeAll()
						v.network.Kill()
						synctest.Wait()
					}
					kept := g
					kept.TTL, kept.Retain = 25*time.Second, true
					spoil(opMulti, func() error { return testkit.Renewed(t, v, kept) })
					if again {
						v.keep(t, g, 25*time.Second)
						if left := v.server.Children(parentOf("key")); len(left) != 1 || !strings.Contains(left[0], "-go-kept-lock-") {
							t.Errorf("the nodes of a key that is kept: %q", left)
						}
					}
					spoil(opDelete, func() error { return v.Release(t.Context(), g) })
					time.Sleep(time.Second)
					v.mustBeEmpty(t, "key")
				})
			})
		}
	}
}

// TestKeptKeyIsAskedFor: Curator's Revoker replaces the data of the node. Nobody works
// under the lock, and the next owner gets it.
func TestKeptKeyIsAskedFor(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		v.keep(t, testkit.MustTry(t, v, testkit.NewRequest("key")), 25*time.Second)
		v.server.Write(v.server.Children(parentOf("key"))[0], "__REVOKE__")
		other := newVirtual(t, v.server)
		testkit.MustRelease(t, other, testkit.MustTry(t, other, testkit.NewRequest("key")))
	})
}
