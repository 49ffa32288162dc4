package redlock_test

import (
	"testing"
	"testing/synctest"

	"github.com/distlock-go/distlock/backend/redlock"
)

// A key with a hash tag has companions in its slot. A companion of another lock is not a key.
func TestVirtualHashTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		b := f.backend(t, redlock.WithTokens())
		r := request()
		r.Key = "{order}:1"
		g := acquire(t, b, r)
		synctest.Wait()
		if n := f.have(r.Key, r.Owner); n != 3 {
			t.Errorf("%d nodes have the lock", n)
		}
		for i, c := range f.admins {
			if n := c.Exists(t.Context(), "{order}{{order}:1}:token").Val(); n != 1 {
				t.Errorf("node %d has the keys %q", i, c.Keys(t.Context(), "*").Val())
			}
		}
		release(t, b, g)
		synctest.Wait()
		if n := f.have(r.Key, ""); n != 3 {
			t.Errorf("%d nodes are free", n)
		}
		for _, key := range []string{"{order:1}:token", "{order:1}:gone:x", "{a}{b}"} {
			r := request()
			r.Key = key
			_, err := b.TryAcquire(t.Context(), r)
			mustFail(t, err)
		}
	})
}
