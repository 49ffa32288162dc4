package etcdlock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// newVirtual returns a Backend with a session of 20 s, and what spoils its requests.
func newVirtual(t *testing.T, f *fake) (*etcdlock.Backend, *spoiler) {
	t.Helper()
	s := new(spoiler)
	return newBackend(t, f.client(t, s), etcdlock.Config{SessionTTL: 20 * time.Second, OpTimeout: 5 * time.Second}), s
}

// inVirtualTime runs f in a bubble.
func inVirtualTime(t *testing.T, f func(t *testing.T, server *fake, b *etcdlock.Backend, s *spoiler)) {
	t.Helper()
	t.Parallel()
	failFast(t, time.Minute)
	synctest.Test(t, func(t *testing.T) {
		server := startFake(t)
		b, s := newVirtual(t, server)
		f(t, server, b, s)
	})
}

// onBoth runs f on a real server and on one in memory.
func onBoth(t *testing.T, f func(t *testing.T, c *clientv3.Client)) {
	t.Helper()
	t.Run("in memory", func(t *testing.T) {
		inVirtualTime(t, func(t *testing.T, server *fake, _ *etcdlock.Backend, s *spoiler) { f(t, server.client(t, s)) })
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		f(t, newClient(t, etcdtest.Shared(t).Addr()))
	})
}

// A lock ends before etcd ends the lease that it depends on, whatever happens to the
// keep-alives.
//
// Row 26 (etcdlock): a keep-alive of an earlier term than the lock's renewal does not
// count, and the lease ends. Fails if the terms are not compared.
func TestLocksEndBeforeTheSession(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, b *etcdlock.Backend, f *fake){
		"keep-alives are lost": func(_ *testing.T, _ *etcdlock.Backend, f *fake) {
			f.slow(func(keepAlive bool) time.Duration {
				if keepAlive {
					return lost
				}
				return 0
			})
		},
		"the lease is granted slowly": func(_ *testing.T, _ *etcdlock.Backend, f *fake) {
			f.slow(func(keepAlive bool) time.Duration {
				if keepAlive {
					return lost
				}
				return 4900 * time.Millisecond
			})
		},
		"keep-alives are slow": func(_ *testing.T, _ *etcdlock.Backend, f *fake) {
			first := true
			f.slow(func(keepAlive bool) time.Duration {
				switch {
				case !keepAlive:
					return 0
				case first:
					first = false
					return 4900 * time.Millisecond
				default:
					return lost
				}
			})
		},
		"another server leads": func(t *testing.T, b *etcdlock.Backend, f *fake) {
			testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("session")))
			time.Sleep(7 * time.Second) // the stream of the keep-alives is open
			f.elect()
			time.Sleep(15 * time.Second) // the old leader answers, and no other
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
				spoil(t, b, f)
				held, heldErr := b.TryAcquire(t.Context(), testkit.NewRequest("held"))
				for start, step := time.Now(), time.Duration(0); time.Since(start) < 40*time.Second; step += 100 * time.Millisecond {
					g, err := b.TryAcquire(t.Context(), testkit.NewRequest("k"))
					if err == nil {
						if _, ends := f.lastLease(); g.Sent.Add(g.TTL).After(ends) {
							t.Errorf("after %v: the lock ends %v after the lease", time.Since(start), g.Sent.Add(g.TTL).Sub(ends))
						}
						testkit.MustRelease(t, b, g)
					}
					sent := time.Now()
					if heldErr == nil && testkit.Renewed(t, b, held) == nil {
						if _, ends := f.lastLease(); sent.Add(held.TTL).After(ends) {
							t.Errorf("after %v: the renewed lock ends %v after the lease", time.Since(start), sent.Add(held.TTL).Sub(ends))
						}
					}
					time.Sleep(step % (21 * time.Second)) // after a long one, only an old keep-alive counts
				}
				f.slow(nil)
				testkit.Eventually(t, "it works again", func() bool {
					g, err := b.TryAcquire(t.Context(), testkit.NewRequest("again"))
					return err == nil && b.Release(t.Context(), g) == nil
				})
			})
		})
	}
}

// The server that has answered the keep-alives does not lead any more. A lock is
// renewed by a keep-alive to another one.
func TestKeepAlivesLeaveADeposedServer(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
		time.Sleep(time.Second)
		g := testkit.MustTry(t, b, testkit.NewRequest("k"))
		time.Sleep(7 * time.Second) // the stream of the keep-alives is open
		f.elect()
		testkit.MustRenew(t, b, g)
	})
}

// A waiter leaves a deposed server, too. Its turn comes when the lease of etcd lasts no longer than
// a lock, and the keep-alives since the election count for nothing.
func TestWaiterLeavesADeposedServer(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
		other, _ := newVirtual(t, f)
		g := testkit.MustTry(t, other, testkit.NewRequest("k"))
		w := testkit.StartWaiter(t, b, testkit.NewRequest("k"))
		time.Sleep(7 * time.Second) // the streams of the keep-alives are open
		f.elect()
		for range 3 {
			testkit.MustRenew(t, other, g)
			time.Sleep(4 * time.Second)
		}
		testkit.MustRelease(t, other, g)
		w.Served(t)
		place := f.places("k")[0]
		f.mu.Lock()
		defer f.mu.Unlock()
		if ends := f.leases[f.keys[place].Lease].ends; w.Got.Sent.Add(w.Got.TTL).After(ends) {
			t.Errorf("the lock ends %v after the lease", w.Got.Sent.Add(w.Got.TTL).Sub(ends))
		}
	})
}

// etcd ends the session of a holder and later of a waiter, or an operator deletes its place,
// with the fence or without. It has another place soon, when a keep-alive says so or when it
// looks, and for longer than the lease would have lasted.
//
// Row 28 (etcdlock): after the lease of etcd was revoked, all holders are told by the
// next renewal, and waiters and later owners are served. Fails if a renewal does not
// ask whether the place exists.
func TestPlaceAfterALoss(t *testing.T) {
	for name, lose := range map[string]func(f *fake, path string){
		"the session ended": (*fake).revokeOf,
		"deleted":           (*fake).delete,
		"deleted with the fence": func(f *fake, path string) {
			lease, _, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ".")
			f.delete(path)
			f.delete(etcdlock.DefaultPrefix + "%session/" + lease)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
				const soon = 8 * time.Second // the interval of the keep-alives
				r := testkit.NewRequest("k")
				lost, also := testkit.MustTry(t, b, r), testkit.MustTry(t, b, testkit.NewRequest("also"))
				lose(f, f.places("also")[0])
				if got := testkit.Renewed(t, b, also); !errors.Is(got, driver.ErrLost) {
					t.Errorf("a renewal without a place: %v", got)
				}
				for _, path := range f.places("k") { // unless it has ended with the session
					lose(f, path)
				}
				time.Sleep(soon)
				other, _ := newVirtual(t, f)
				g := testkit.MustTry(t, other, testkit.NewRequest("k"))
				held := f.places("k")[0]
				first := testkit.StartWaiter(t, b, r, testkit.Looks{Every: time.Second})
				synctest.Wait()
				lose(f, slices.DeleteFunc(f.places("k"), func(path string) bool { return path == held })[0])
				time.Sleep(soon)
				if n := len(f.places("k")); n != 2 {
					t.Fatalf("%d places", n)
				}
				last := testkit.StartWaiter(t, other, testkit.NewRequest("k"))
				for range 5 {
					testkit.MustRenew(t, other, g)
					time.Sleep(g.TTL / 4)
				}
				testkit.MustRelease(t, other, g)
				if first.Served(t); first.Got.Token <= lost.LastToken {
					t.Errorf("token %d after token %d", first.Got.Token, lost.LastToken)
				}
				testkit.MustRelease(t, b, first.Got)
				testkit.MustRelease(t, other, last.Served(t))
			})
		})
	}
}

// A request of a session that has ended is answered, while one of the next session is
// under way. The owner gives up: the second one still creates nothing.
func TestAnswerInAnEndedSession(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, s *spoiler) {
		testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("session")))
		r := testkit.NewRequest("k")
		var tries sync.WaitGroup
		try := func() (arrive func()) {
			arrive = s.hold("Txn")
			tries.Go(func() { _, _ = b.TryAcquire(context.Background(), r) }) // it is given up
			synctest.Wait()
			return arrive
		}
		first := try()
		lease, _ := f.lastLease()
		f.revoke(lease)
		testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("next session")))
		second := try()
		first() // this attempt goes on in the next session, and has the key
		synctest.Wait()
		testkit.MustRelease(t, b, r.Grant())
		etcdlock.WaitForSweeper(t, b)
		second()
		tries.Wait()
		etcdlock.WaitForSweeper(t, b)
		if left := f.places("k"); len(left) > 0 {
			t.Errorf("left in etcd: %q", left)
		}
	})
}

// The place of a holder is deleted, and a late request of the holder creates it again,
// behind the next owner's. The holder is told, and the next owner has the key.
func TestPlaceCreatedAgain(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, s *spoiler) {
		testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("session")))
		r := testkit.NewRequest("k")
		s.postpone("Txn")
		if _, err := b.TryAcquire(t.Context(), r); err == nil {
			t.Fatal("an attempt without an answer succeeded")
		}
		g := testkit.MustTry(t, b, r)
		next := testkit.StartWaiter(t, b, testkit.NewRequest("k"))
		synctest.Wait()
		s.each(func(_ int, method string) fate { return map[bool]fate{true: refused}[method == "Txn"] })
		if held, err := b.ForceRelease(t.Context(), "k"); held || err == nil {
			t.Errorf("ForceRelease that is refused: %v, %v", held, err)
		}
		s.each(nil)
		if held, err := b.ForceRelease(t.Context(), "k"); !held || err != nil {
			t.Fatal(held, err)
		}
		other := next.Served(t)
		f.delete(f.places("k")[0]) // the late request demands that the key is free
		s.send(t)
		if got := testkit.Renewed(t, b, g); !errors.Is(got, driver.ErrLost) {
			t.Errorf("renewal of a lock that was lost: %v", got)
		}
		if got := testkit.Renewed(t, b, other); !errors.Is(got, driver.ErrLost) {
			t.Errorf("renewal of another lock that was lost: %v", got)
		}
	})
}

// A request to delete the place of a holder arrives after the holder has released the
// key. The next owner has a place with the same name, and keeps it.
func TestDeletionSparesTheNextPlace(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
		g := testkit.MustTry(t, b, testkit.NewRequest("k"))
		name := f.places("k")[0]
		operator, s := newVirtual(t, f)
		arrive := s.hold("Txn")
		forced := make(chan bool, 1)
		go func() {
			held, err := operator.ForceRelease(context.Background(), "k")
			if err != nil {
				t.Error(err)
			}
			forced <- held
		}()
		synctest.Wait()
		testkit.MustRelease(t, b, g)
		next := testkit.MustTry(t, b, testkit.NewRequest("k"))
		if f.places("k")[0] != name {
			t.Fatal("it has another name: the test shows nothing")
		}
		arrive()
		if <-forced {
			t.Error("ForceRelease has taken the key from somebody")
		}
		testkit.MustRenew(t, b, next)
	})
}

// The deletion of a place, by a release or at the end of the lease, arrives after another
// one, and after the next owner has the key.
func TestLateDeletionSparesTheNextOwner(t *testing.T) {
	for method, end := range map[string]func(b *etcdlock.Backend, g driver.Grant){
		"DeleteRange": func(b *etcdlock.Backend, g driver.Grant) { _ = b.Release(context.Background(), g) },
		"Txn":         func(_ *etcdlock.Backend, g driver.Grant) { time.Sleep(g.TTL + time.Millisecond) },
	} {
		t.Run(method, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, _ *fake, b *etcdlock.Backend, s *spoiler) {
				g := testkit.MustTry(t, b, testkit.NewRequest("k"))
				s.postpone(method)
				end(b, g)
				etcdlock.WaitForSweeper(t, b)
				next := testkit.MustTry(t, b, testkit.NewRequest("k"))
				s.send(t)
				testkit.MustRenew(t, b, next)
			})
		})
	}
}

// A lease of etcd that was revoked costs Ping nothing. What Ping has written ends with
// the Backend.
func TestPingAfterTheSessionWasLost(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
		for range 2 {
			if err := b.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := len(f.keys); n != 2 {
				t.Errorf("%d keys, want the fence and that of Ping", n)
			}
			lease, _ := f.lastLease()
			f.revoke(lease)
		}
		if err := errors.Join(b.Ping(t.Context()), b.Close()); err != nil || len(f.keys) > 0 {
			t.Errorf("%d keys are left: %v", len(f.keys), err)
		}
	})
}

// The cluster is restored from a backup that has the session. Its term, or the fence, is older
// than was known. A lock is granted, in another session.
func TestRestoredFromABackup(t *testing.T) {
	for _, older := range []string{"term", "fence"} {
		t.Run(older, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
				testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("session")))
				f.elect()
				held, fence := testkit.MustTry(t, b, testkit.NewRequest("held")), f.paths(etcdlock.DefaultPrefix + "%session/")[0]
				f.delete(f.places("held")[0])
				f.mu.Lock()
				if older == "term" {
					f.term--
				} else {
					f.keys[fence].ModRevision--
				}
				f.mu.Unlock()
				time.Sleep(20 * time.Second)
				testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("held")))
				testkit.MustBeLost(t, b, held)
			})
		})
	}
}
