package zklock_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestRevokeIsNotLost: a holder is told of a message that came before it listened, after or
// beside an extension, or without a connection. A process that was asked does not extend its lock.
// Other processes still see the name of the holder.
func TestRevokeIsNotLost(t *testing.T) {
	for _, name := range []string{"before it listens", "after an extension", "beside an extension", "the connection is lost", "no connection at first"} {
		t.Run(name, func(t *testing.T) {
			if name == "the connection is lost" {
				reconnects(t)
			}
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				other := newVirtual(t, v.server)
				mustWork(t, other.Backend, "other")
				r := named("key", "web-3/1432")
				g := testkit.MustTry(t, v, r)
				cut := func() {
					v.network.Refuse(true)
					v.network.Kill()
					synctest.Wait()
				}
				if name == "no connection at first" {
					cut()
				}
				asked := v.Revoked(t.Context(), g)
				told := func() {
					select {
					case <-asked:
					case <-time.After(patience):
						t.Fatal("the holder is not told")
					}
				}
				synctest.Wait()
				switch name {
				case "after an extension":
					for range 3 {
						var err error
						if g, err = v.Extend(t.Context(), g, 1); err != nil {
							t.Fatal(err)
						}
					}
					testkit.MustRenew(t, v, g)
				case "beside an extension": // between the requests of Revoke
					v.server.On(opSetData, func(string) fate {
						v.server.ServeAll()
						g, _ = v.Extend(t.Context(), g, 1)
						return served
					})
				case "the connection is lost":
					cut()
				case "no connection at first":
					time.Sleep(3 * time.Second) // longer than one operation
				}
				select {
				case <-asked:
					t.Error("the holder is asked by nobody")
				default:
				}
				if held, err := other.Revoke(t.Context(), g.Key); !held || err != nil {
					t.Errorf("Revoke: %v, %v", held, err)
				}
				v.network.Refuse(false)
				if name == "before it listens" {
					asked = v.Revoked(t.Context(), g)
				}
				told()
				if _, err := v.Extend(t.Context(), g, 1); !errors.Is(err, driver.ErrNotAcquired) {
					t.Errorf("Extend after the holder was asked: %v", err)
				}
				infos, err := other.Inspect(t.Context(), g.Key, 1)
				if err != nil || len(infos) != 1 || infos[0].Holders[0].Holder != "web-3/1432" || infos[0].Holders[0].Owner != driver.Fingerprint(r.Owner) {
					t.Errorf("Inspect: %+v, %v", infos, err)
				}
				testkit.MustRenew(t, v, g) // it was only asked
				testkit.MustRelease(t, v, g)

				asked = v.Revoked(t.Context(), testkit.MustTry(t, v, named("key", "web-3/1432")))
				if held, err := other.ForceRelease(t.Context(), g.Key); !held || err != nil {
					t.Errorf("ForceRelease: %v, %v", held, err)
				}
				told()
			})
		})
	}
}
