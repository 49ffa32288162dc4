package distlock_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
)

// jointBubble is bubble with a store that can take several keys in one step.
func jointBubble(t *testing.T, f func(t *testing.T, l *distlock.Locker, s *store)) {
	t.Helper()
	bubble(t, func(t *testing.T, l *distlock.Locker, s *store) {
		s.joint = true
		f(t, l, s)
		synctest.Wait() // for releases in the background
		if l.Keys() != 0 || l.Watched() != 0 {
			t.Errorf("%d keys and %d holds are left", l.Keys(), l.Watched())
		}
		if n, leases := l.UnderWay(); n != 0 || leases != 0 {
			t.Errorf("%d are under way, and %d leases to cancel", n, leases)
		}
		mustBeFree(t, s, "a", "b", "c")
	})
}

// wantOps checks which operations the store has received, without renewals and
// releases.
func wantOps(t *testing.T, s *store, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var ops []string
	for _, c := range s.calls {
		if c.op != "renew" && c.op != "release" {
			ops = append(ops, c.op+" "+c.key)
		}
	}
	if !slices.Equal(ops, want) {
		t.Errorf("the store has seen %q, want %q", ops, want)
	}
}

func TestFreeKeysAreTakenTogether(t *testing.T) {
	jointBubble(t, func(t *testing.T, l *distlock.Locker, s *store) {
		m := mustAcquireAll(t, l, t.Context(), "c", "a", "b")
		wantOps(t, s, "all a")
		tokens := make(map[uint64]bool)
		for _, lease := range m.Leases() {
			tokens[lease.Token()] = true
		}
		if len(tokens) != 3 || tokens[0] {
			t.Errorf("the tokens are %v", tokens)
		}
		time.Sleep(time.Minute) // all are renewed
		wantIs(t, m.Check())
		for _, key := range []string{"a", "b", "c"} {
			_, err := l.Acquire(t.Context(), key, distlock.Opts{RetryCount: 1})
			wantIs(t, err, distlock.ErrNotAcquired)
		}
		wantIs(t, m.Release(t.Context()))
	})
}

// If another caller has one of the keys, in another process or in this one, the keys
// are acquired one by one: in order, and without holding keys behind the busy one.
func TestBusyKeysAreTakenOneByOne(t *testing.T) {
	for name, local := range map[string]bool{"elsewhere": false, "here": true} {
		t.Run(name, func(t *testing.T) {
			jointBubble(t, func(t *testing.T, l *distlock.Locker, s *store) {
				var release func()
				if local {
					held := mustAcquire(t, l, "b", distlock.Opts{})
					release = func() { wantIs(t, held.Release(t.Context())) }
				} else {
					release = other(t, s, "b")
				}
				got := make(chan *distlock.MultiLease)
				go func() { got <- mustAcquireAll(t, l, t.Context(), "c", "b", "a") }()
				time.Sleep(time.Minute)
				if s.free(t, "a") || !s.free(t, "c") {
					t.Error("want the key before the busy one, and not the one behind it")
				}
				if n := len(s.seen("all")); local == (n > 0) {
					t.Errorf("asked %d times for all together", n)
				}
				release()
				wantIs(t, (<-got).Release(t.Context()))
			})
		})
	}
}

// A lost or late reply does not leave keys behind.
func TestKeysTakenTogetherForNothing(t *testing.T) {
	for name, spoil := range map[string]func(s *store){
		"not sent": func(s *store) { s.fail("all") },
		"lost":     func(s *store) { s.loseReplies("all", 1) },
		"late": func(s *store) {
			s.after = func(c call) error {
				if c.op == "all" {
					time.Sleep(distlock.DefaultKeyTimeout)
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			jointBubble(t, func(t *testing.T, l *distlock.Locker, s *store) {
				spoil(s)
				m := mustAcquireAll(t, l, t.Context(), "a", "b", "c")
				synctest.Wait()
				owner := s.seen("all")[0].owner
				if !slices.ContainsFunc(s.seen("release"), func(c call) bool { return c.owner == owner }) {
					t.Error("what may have been taken was not given back")
				}
				wantIs(t, m.Check())
				wantIs(t, m.Release(t.Context()))
			})
		})
	}
}

// A caller that leaves when it has all keys releases them.
func TestKeysTakenTogetherAreGivenBack(t *testing.T) {
	for name, end := range map[string]func(cancel context.CancelFunc){
		"cancelled": func(cancel context.CancelFunc) { cancel() },
		"panic":     func(context.CancelFunc) { panic("a hook") },
	} {
		t.Run(name, func(t *testing.T) {
			jointBubble(t, func(t *testing.T, _ *distlock.Locker, s *store) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				l := distlock.New(s, distlock.Config{Hooks: distlock.Hooks{
					Start: func(ctx context.Context, i distlock.StartInfo) context.Context {
						if i.Key == "b" {
							end(cancel)
						}
						return ctx
					},
				}})
				defer closeLocker(t, l)
				func() {
					defer func() { _ = recover() }()
					_, err := l.AcquireAll(ctx, []string{"a", "b", "c"}, distlock.Opts{})
					wantIs(t, err, distlock.ErrNotAcquired, context.Canceled)
				}()
				synctest.Wait()
				mustBeFree(t, s, "a", "b", "c")
				if n := l.Keys(); n != 0 {
					t.Errorf("%d gates are shut", n)
				}
			})
		})
	}
}

// Keys are not acquired together if the caller already holds one of them.
func TestReentryIsNotTakenTogether(t *testing.T) {
	jointBubble(t, func(t *testing.T, l *distlock.Locker, s *store) {
		held := mustAcquire(t, l, "b", distlock.Opts{})
		m := mustAcquireAll(t, l, held.Context(), "a", "b", "c")
		wantIs(t, m.Release(t.Context()))
		wantIs(t, held.Check())
		wantIs(t, held.Release(t.Context()))
		if n := len(s.seen("all")); n != 0 {
			t.Errorf("asked %d times for all together", n)
		}
	})
}

// Several callers in each of two processes want the same keys in different orders, and
// all get them: a waiter holds only keys before the one that it waits for.
func TestAcquireAllInAnyOrder(t *testing.T) {
	for name, joint := range map[string]bool{"one by one": false, "together": true} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { acquireInAnyOrder(t, joint) }) })
	}
}

func acquireInAnyOrder(t *testing.T, joint bool) {
	t.Helper()
	s := newStore()
	s.joint = joint
	lockers := []*distlock.Locker{distlock.New(s, distlock.Config{}), distlock.New(s, distlock.Config{})}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	orders := [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c"}, {"c", "a"}, {"b", "a"}}
	inside := map[string]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 20 {
		keys := orders[i%len(orders)]
		all.Go(func() {
			for range 20 {
				err := lockers[i%2].DoAll(ctx, keys, distlock.Opts{}, func(context.Context) error {
					enter := func(who string) {
						mu.Lock()
						defer mu.Unlock()
						for _, key := range keys {
							if inside[key] != "" && who != "" {
								t.Errorf("%q has two holders", key)
							}
							inside[key] = who
						}
					}
					enter("in")
					time.Sleep(time.Millisecond)
					enter("")
					return nil
				})
				if err != nil {
					t.Errorf("%q: %v", keys, err)
					return
				}
			}
		})
	}
	all.Wait()
	for _, l := range lockers {
		closeLocker(t, l)
	}
	mustBeFree(t, s, "a", "b", "c")
}

// A closed Locker acquires no keys and counts no callers.
func TestNothingIsTakenTogetherAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.joint = true
		l := distlock.New(s, distlock.Config{})
		closeLocker(t, l)
		_, err := l.AcquireAll(t.Context(), []string{"a", "b"}, distlock.Opts{})
		wantIs(t, err, distlock.ErrClosed)
		wantOps(t, s)
		if n, leases := l.UnderWay(); n != 0 || leases != 0 {
			t.Errorf("%d are under way, and %d leases to cancel", n, leases)
		}
	})
}

// A Locker that is closed when one of the keys has just been acquired also releases
// that key.
func TestKeysTakenTogetherAreGivenBackAtClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.joint = true
		ctx := &leavingCtx{Context: t.Context()}
		var l *distlock.Locker
		l = distlock.New(s, distlock.Config{Hooks: distlock.Hooks{
			Start: func(c context.Context, _ distlock.StartInfo) context.Context {
				ctx.inTheMoment = func() { go closeLocker(t, l); synctest.Wait() }
				return c
			},
		}})
		_, err := l.AcquireAll(ctx, []string{"a", "b"}, distlock.Opts{})
		wantIs(t, err, distlock.ErrClosed)
		synctest.Wait()
		mustBeFree(t, s, "a", "b")
		if n, leases := l.UnderWay(); n != 0 || leases != 0 {
			t.Errorf("%d are under way, and %d leases to cancel", n, leases)
		}
	})
}
