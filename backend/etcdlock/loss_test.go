package etcdlock_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// An operator ends the lease of etcd, or deletes all keys. Nothing of the old session
// is left.
//
// Row 28 (etcdlock): after the lease of etcd was revoked, all holders are told by the
// next renewal, and waiters and later owners are served. Fails if a renewal does not
// ask whether the place exists.
func TestSessionLost(t *testing.T) {
	for name, spoil := range map[string]func(f *fake, lease int64){
		"revoked": (*fake).revoke,
		"deleted": func(f *fake, _ int64) {
			for _, path := range f.paths("") {
				f.delete(path)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
				grants := []driver.Grant{testkit.MustTry(t, b, testkit.NewRequest("a")), testkit.MustTry(t, b, testkit.NewRequest("b"))}
				w := testkit.StartWaiter(t, b, testkit.NewRequest("a"), testkit.Looks{Every: time.Second})
				synctest.Wait()
				lease, _ := f.lastLease()
				spoil(f, lease)
				if err := b.Ping(t.Context()); err != nil {
					t.Errorf("Ping: %v", err)
				}
				for i, result := range driver.RenewAll(t.Context(), b, grants) {
					if !errors.Is(result, driver.ErrLost) {
						t.Errorf("renewal of grant %d: %v", i, result)
					}
				}
				next := w.Served(t)
				if next.Token <= grants[0].LastToken {
					t.Errorf("token %d after token %d", next.Token, grants[0].LastToken)
				}
				if err := b.Release(t.Context(), grants[0]); !errors.Is(err, driver.ErrLost) {
					t.Errorf("Release of a lost lock: %v", err)
				}
				testkit.MustRenew(t, b, next)
				testkit.MustRelease(t, b, next)
				testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("b")))
				if now, _ := f.lastLease(); now == lease {
					t.Error("the old lease is the last")
				}
			})
		})
	}
}

// A free lock costs one transaction that writes and reads nothing. Another place in the
// queue is found by a second one, which reads.
func TestFreeLockReadsNothing(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
		first, second := testkit.NewRequest("key"), testkit.NewRequest("key")
		for i, r := range []driver.Request{first, second} {
			_, err := b.Enqueue(t.Context(), r)
			if held := errors.Is(err, driver.ErrNotAcquired); held != (i > 0) {
				t.Fatalf("owner %d: %v", i, err)
			}
			f.mu.Lock()
			if got, want := [2]int{len(f.txn.Success), len(f.txn.Failure)}, [2]int{1 + i, 2 * i}; got != want {
				t.Errorf("owner %d: %v operations, want %v", i, got, want)
			}
			f.mu.Unlock()
		}
	})
}
