package main

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/redislock"
)

// busy: while 8 users keep the lock of one item busy in Go, Spring sells the same item.
// Under the aspect it does if there is room for clients that poll, and under Redisson in any
// case; how long it takes is for the log. Without room, the aspect waits until Go leaves the
// key free by chance.
func (f *fleet) busy(t *testing.T) {
	const requests, patience = 5, time.Minute
	for _, lock := range []string{"aspect", "redisson"} {
		took := f.beside(t, lock, requests, patience, redislock.WithPollers(poll))
		t.Logf("%s: Spring's requests took %v", lock, took)
		if len(took) < requests {
			t.Errorf("%s: only %d of %d requests of Spring were served in %v", lock, len(took), requests, patience)
		}
	}
	t.Logf("aspect, without room for clients that poll: in 3s they took %v", f.beside(t, "aspect", requests, 3*time.Second))
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
