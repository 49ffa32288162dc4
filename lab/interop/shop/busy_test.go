package main

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/redislock"
)

// busy: while 8 users keep the lock of one item busy in Go, Spring sells the same item. With
// Redisson it does in any case. The aspect polls, and waits until it finds the key free by
// chance; how long that takes is for the log.
func (f *fleet) busy(t *testing.T) {
	const requests, patience = 5, time.Minute
	took := f.beside(t, "redisson", requests, patience)
	t.Logf("redisson: Spring's requests took %v", took)
	if len(took) < requests {
		t.Errorf("redisson: only %d of %d requests of Spring were served in %v", len(took), requests, patience)
	}
	t.Logf("aspect: in 3s they took %v", f.beside(t, "aspect", requests, 3*time.Second, redislock.WithFreeRelease()))
}

// beside lets users sell in Go, and one client in Spring, until Spring has served the
// number of requests or the time is over. It returns how long each request took that was
// served in time.
func (f *fleet) beside(t *testing.T, lock string, requests int, patience time.Duration, options ...redislock.Option) (took []time.Duration) {
	t.Helper()
	if err := f.rdb.Set(t.Context(), items[0].key(), 1_000_000, 0).Err(); err != nil {
		t.Fatal(err)
	}
	s := newShop(f.rdb, options...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	var selling sync.WaitGroup
	for range users {
		selling.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.under[lock].sell(ctx, items[0]); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	f.set(t, shares{})
	for range requests {
		start := time.Now()
		f.request(t, http.MethodPost, "/"+lock+"/sell", items[0].query()).ok(t)
		if ctx.Err() != nil {
			break
		}
		took = append(took, time.Since(start).Round(time.Millisecond))
	}
	cancel()
	selling.Wait()
	s.close()
	return took
}
