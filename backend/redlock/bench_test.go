package redlock_test

import (
	"context"
	"testing"
)

// BenchmarkLockUnlock compares five healthy nodes with five nodes of which two hang.
// The ratio counts.
func BenchmarkLockUnlock(b *testing.B) {
	for _, c := range []struct {
		name string
		hung []int
	}{{"healthy", nil}, {"two-hung", []int{1, 3}}} {
		b.Run(c.name, func(b *testing.B) {
			f := realFleet(b, 5)
			backend := newBackend(b, f.clients())
			f.warm(b, backend)
			for _, i := range c.hung {
				f.servers[i].Stop()
			}
			b.ReportAllocs()
			for b.Loop() {
				g, err := backend.TryAcquire(context.Background(), request())
				if err != nil {
					b.Fatal(err)
				}
				if err := backend.Release(context.Background(), g); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			for _, i := range c.hung {
				f.servers[i].Cont()
			}
		})
	}
}
