package distlock_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/testkit"
)

// jointBubble is bubble with a store that can take several keys in one step.
func jointBubble(t *testing.T, f func(t *testing.T, l *distlock.Locker, s *testkit.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := testkit.NewLocker(t, joint(s), distlock.Config{})
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

// wantOps checks which attempts the store has received.
func wantOps(t *testing.T, s *testkit.Store, want ...string) {
	t.Helper()
	var ops []string
	for _, c := range s.Calls(testkit.Try, testkit.Wait, testkit.All) {
		ops = append(ops, string(c.Op)+" "+c.Key)
	}
	if !slices.Equal(ops, want) {
		t.Errorf("the store has seen %q, want %q", ops, want)
	}
}

func TestFreeKeysAreTakenTogether(t *testing.T) {
	jointBubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
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
			jointBubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
				var release func()
				if local {
					held := testkit.MustAcquire(t, l, "b", distlock.Opts{})
					release = func() { wantIs(t, held.Release(t.Context())) }
				} else {
					release = other(t, s, "b")
				}
				got := make(chan *distlock.MultiLease)
				go func() { got <- mustAcquireAll(t, l, t.Context(), "c", "b", "a") }()
				time.Sleep(time.Minute)
				if s.Free(t, "a") || !s.Free(t, "c") {
					t.Error("want the key before the busy one, and not the one behind it")
				}
				if n := len(s.Calls(testkit.All)); local == (n > 0) {
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
	for name, spoil := range map[string]func(s *testkit.Store){
		"not sent": func(s *testkit.Store) { s.Fail(testkit.ErrBroken, testkit.All) },
		"lost":     func(s *testkit.Store) { s.LoseReplies(testkit.All, 1) },
		"late": func(s *testkit.Store) {
			s.DelayReplies(distlock.DefaultKeyTimeout, testkit.All)
		},
	} {
		t.Run(name, func(t *testing.T) {
			jointBubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
				spoil(s)
				m := mustAcquireAll(t, l, t.Context(), "a", "b", "c")
				synctest.Wait()
				owner := s.Calls(testkit.All)[0].Owner
				if !slices.ContainsFunc(s.Calls(testkit.Release), func(c testkit.Call) bool { return c.Owner == owner }) {
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
			jointBubble(t, func(t *testing.T, _ *distlock.Locker, s *testkit.Store) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				l := testkit.NewLocker(t, joint(s), distlock.Config{Hooks: distlock.Hooks{
					Start: func(ctx context.Context, i distlock.StartInfo) context.Context {
						if i.Key == "b" {
							end(cancel)
						}
						return ctx
					},
				}})
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
	jointBubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "b", distlock.Opts{})
		m := mustAcquireAll(t, l, held.Context(), "a", "b", "c")
		wantIs(t, m.Release(t.Context()))
		wantIs(t, held.Check())
		wantIs(t, held.Release(t.Context()))
		if n := len(s.Calls(testkit.All)); n != 0 {
			t.Errorf("asked %d times for all together", n)
		}
	})
}

// Several callers in each of two processes want the same keys in different orders, and
// all get them: a waiter holds only keys before the one that it waits for.
func TestAcquireAllInAnyOrder(t *testing.T) {
	for name, abilities := range map[string]testkit.Ability{"one by one": testkit.Queuing, "together": testkit.Queuing | testkit.Joint} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { acquireInAnyOrder(t, abilities) }) })
	}
}

func acquireInAnyOrder(t *testing.T, abilities testkit.Ability) {
	t.Helper()
	s := testkit.NewStore()
	b := s.Only(abilities)
	lockers := []*distlock.Locker{testkit.NewLocker(t, b, distlock.Config{}), testkit.NewLocker(t, b, distlock.Config{})}
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
		wantIs(t, l.Close())
	}
	mustBeFree(t, s, "a", "b", "c")
}

// A closed Locker acquires no keys and counts no callers.
func TestNothingIsTakenTogetherAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := distlock.New(joint(s), distlock.Config{})
		wantIs(t, l.Close())
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
		s := testkit.NewStore()
		ctx := &leavingCtx{Context: t.Context()}
		var l *distlock.Locker
		l = distlock.New(joint(s), distlock.Config{Hooks: distlock.Hooks{
			Start: func(c context.Context, _ distlock.StartInfo) context.Context {
				ctx.inTheMoment = func() { go func() { wantIs(t, l.Close()) }(); synctest.Wait() }
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
