package sqllock_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// BenchmarkLock measures a lock and an unlock: by one goroutine, and by many with keys of
// their own.
func BenchmarkLock(b *testing.B) {
	for _, d := range []database{postgres, mariaDB, sqlite} {
		b.Run(d.dialect.String(), func(b *testing.B) {
			backend := d.opened(b, d.newTables(b))
			lock := func(key string) {
				g, err := backend.TryAcquire(b.Context(), request(key, time.Minute))
				if err == nil {
					err = backend.Release(b.Context(), g)
				}
				if err != nil {
					b.Error(err)
				}
			}
			b.Run("uncontended", func(b *testing.B) {
				for b.Loop() {
					lock("key")
				}
			})
			b.Run("own-keys", func(b *testing.B) {
				var goroutines atomic.Int64
				b.SetParallelism(4)
				b.RunParallel(func(pb *testing.PB) {
					key := "own" + strconv.FormatInt(goroutines.Add(1), 10)
					for pb.Next() {
						lock(key)
					}
				})
			})
		})
	}
}

// BenchmarkRenew measures the renewal of 1 and of 64 leases.
func BenchmarkRenew(b *testing.B) {
	for _, d := range []database{postgres, mariaDB, sqlite} {
		b.Run(d.dialect.String(), func(b *testing.B) {
			backend := d.opened(b, d.newTables(b))
			grants := make([]driver.Grant, 64)
			for i := range grants {
				grants[i] = testkit.MustTry(b, backend, request("key"+strconv.Itoa(i), time.Hour))
			}
			for _, n := range []int{1, 64} {
				b.Run(strconv.Itoa(n), func(b *testing.B) {
					for b.Loop() {
						for _, r := range driver.RenewAll(b.Context(), backend, grants[:n]) {
							if r.Status != driver.Renewed {
								b.Fatalf("%v: %v", r.Status, r.Err)
							}
						}
					}
				})
			}
		})
	}
}
