package redislock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

// heldBack is a hook of a client. It delays the scripts for some keys until open is
// closed, and counts the scripts.
type heldBack struct {
	keys func(key string) bool
	open chan struct{}

	mu   sync.Mutex
	sent int
}

func (h *heldBack) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *heldBack) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := h.wait(ctx, cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (h *heldBack) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := h.wait(ctx, cmds[0]); err != nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		return next(ctx, cmds)
	}
}

func (h *heldBack) wait(ctx context.Context, cmd redis.Cmder) error {
	if cmd.Name() != "evalsha" || !h.keys(cmd.Args()[3].(string)) {
		return nil
	}
	h.mu.Lock()
	h.sent++
	h.mu.Unlock()
	select {
	case <-h.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *heldBack) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sent
}

// While a server does not answer, at most four renewals are sent to it. Further ones wait,
// and are sent when it answers; if their context ends first, the error says that they were
// not sent.
//
// Row 9 (redislock): at most four renewals for one server are in progress. Fails if their
// number has no bound, or if a renewal that waits is lost.
func TestVirtualRenewalsInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := redistest.VirtualClient(t, redistest.Virtual(t))
		wrapped := struct{ redis.UniversalClient }{c} // so that its hooks see the renewals
		b := newBackend(t, wrapped, redislock.WithOpTimeout(30*time.Second))
		grants := hold(t, b, 10)
		server := &heldBack{keys: func(string) bool { return true }, open: make(chan struct{})}
		c.AddHook(server)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var renewals sync.WaitGroup
		renew := func(ctx context.Context, g driver.Grant, check func(driver.RenewResult)) {
			renewals.Go(func() { check(driver.RenewAll(ctx, b, []driver.Grant{g})[0]) })
			synctest.Wait()
		}
		for i, g := range grants {
			if i < 7 { // four are sent, three wait
				renew(t.Context(), g, func(r driver.RenewResult) {
					if r.Status != driver.Renewed {
						t.Errorf("%d: %v, %v", i, r.Status, r.Err)
					}
				})
				continue
			}
			renew(ctx, g, func(r driver.RenewResult) { // waits until ctx ends
				if r.Status != driver.Unknown || !errors.Is(r.Err, context.DeadlineExceeded) ||
					!strings.Contains(r.Err.Error(), "not sent, because 4 renewals") {
					t.Errorf("%d: %v, %v", i, r.Status, r.Err)
				}
			})
		}
		time.Sleep(2 * time.Second)
		if n := server.count(); n != 4 {
			t.Errorf("%d renewals were sent", n)
		}
		close(server.open)
		renewals.Wait()
		if n := server.count(); n != 7 {
			t.Errorf("%d renewals were sent in the end", n)
		}
	})
}

// A server of a Ring that does not answer delays the results of no other server, whether
// its renewals are in progress or wait to be sent.
//
// Row 9 (redislock): the results of one server are reported as they come. Fails if Renew
// reports at its end, or if the bound of renewals in progress is not for each server.
func TestVirtualSilentShardDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := redistest.Virtual(t), redistest.Virtual(t)
		const silent = "127.0.0.1:2"
		ring := redis.NewRing(&redis.RingOptions{
			Addrs:              map[string]string{"1": "127.0.0.1:1", "2": silent}, // never dialled
			HeartbeatFrequency: time.Hour,
			NewClient: func(o *redis.Options) *redis.Client {
				server := first
				if o.Addr == silent {
					server = second
				}
				return redistest.VirtualClient(t, server, func(virtual *redis.Options) { virtual.Addr = o.Addr })
			},
		})
		t.Cleanup(func() { _ = ring.Close() })
		isSilent := func(key string) bool { return must(ring.GetShardClientForKey(key)).Options().Addr == silent }
		b := newBackend(t, ring, redislock.WithOpTimeout(redislock.DefaultOpTimeout))
		grants := hold(t, b, 8)
		for i := range grants { // the server learns the script, which in a pipeline exceeds its buffer
			renewed(t, driver.RenewAll(t.Context(), b, grants[i:i+1]), all(driver.Renewed))
		}
		onSilent := slices.DeleteFunc(slices.Clone(grants), func(g driver.Grant) bool { return !isSilent(g.Key) })
		if n := len(onSilent); n == 0 || n == len(grants) {
			t.Fatalf("%d of %d keys are on one server", n, len(grants))
		}
		ring.AddHook(&heldBack{keys: isSilent, open: make(chan struct{})})

		start := time.Now()
		var renewals sync.WaitGroup
		for range 5 { // more than are in progress for one server
			renewals.Go(func() { driver.RenewAll(t.Context(), b, onSilent) })
		}
		synctest.Wait()
		for range 2 {
			renewals.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				var mu sync.Mutex
				var reported []int
				b.Renew(ctx, grants, func(i int, r driver.RenewResult) {
					mu.Lock()
					defer mu.Unlock()
					reported = append(reported, i)
					want := driver.Renewed
					if isSilent(grants[i].Key) {
						want = driver.Unknown
					}
					d := time.Since(start)
					if r.Status != want || (want == driver.Renewed) != (d == 0) {
						t.Errorf("%s after %v: %v, %v", grants[i].Key, d, r.Status, r.Err)
					}
				})
				slices.Sort(reported)
				if reported = slices.Compact(reported); len(reported) != len(grants) {
					t.Errorf("%d results of %d", len(reported), len(grants))
				}
			})
		}
		renewals.Wait()
	})
}
