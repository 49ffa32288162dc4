package memlock_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
)

func benchRequest(key, owner string) driver.Request {
	return driver.Request{Key: key, Owner: owner, TTL: time.Minute, Tokens: 64}
}

func BenchmarkTryAcquireRelease(b *testing.B) {
	pair := func(b *testing.B, m *memlock.Backend, r driver.Request) {
		g, err := m.TryAcquire(b.Context(), r)
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Release(b.Context(), g); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("serial", func(b *testing.B) {
		m, r := memlock.New(), benchRequest("shop:pay:42", "9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11")
		b.ReportAllocs()
		for b.Loop() {
			pair(b, m, r)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		m := memlock.New()
		var n atomic.Int64
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			r := benchRequest("shop:pay:"+strconv.FormatInt(n.Add(1), 10), "9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11")
			for pb.Next() {
				pair(b, m, r)
			}
		})
	})
	b.Run("among-100000", func(b *testing.B) {
		m := memlock.New()
		for i := range 100_000 {
			if _, err := m.TryAcquire(b.Context(), benchRequest("held:"+strconv.Itoa(i), "somebody")); err != nil {
				b.Fatal(err)
			}
		}
		r := benchRequest("shop:pay:42", "9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11")
		b.ReportAllocs()
		for b.Loop() {
			pair(b, m, r)
		}
	})
}

func BenchmarkRenew(b *testing.B) {
	m := memlock.New()
	grants := make([]driver.Grant, 256)
	for i := range grants {
		var err error
		if grants[i], err = m.TryAcquire(b.Context(), benchRequest(strconv.Itoa(i), "owner")); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, res := range driver.RenewAll(b.Context(), m, grants) {
			if res.Status != driver.Renewed {
				b.Fatal(res)
			}
		}
	}
}

// BenchmarkAcquire passes one key around among goroutines that wait in the queue.
func BenchmarkAcquire(b *testing.B) {
	for _, n := range []int{2, 64, 1000} {
		b.Run("waiters="+strconv.Itoa(n), func(b *testing.B) {
			m := memlock.New()
			var owners atomic.Int64
			b.SetParallelism(n / 2)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r := benchRequest("one", strconv.FormatInt(owners.Add(1), 10))
					r.Backoff = driver.NewBackoff(time.Minute, 0)
					g, err := m.Acquire(context.Background(), r)
					if err != nil {
						b.Error(err)
						return
					}
					if err := m.Release(context.Background(), g); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
