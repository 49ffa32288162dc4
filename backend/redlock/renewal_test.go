package redlock_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
)

// slowBatch makes a client slow for renewals of fewer locks than a full batch.
type slowBatch struct{ delay time.Duration }

func (slowBatch) DialHook(next redis.DialHook) redis.DialHook { return next }

func (slowBatch) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s slowBatch) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) > 2 && args[1] == redlock.RenewHash {
			if keys, err := strconv.Atoi(fmt.Sprint(args[2])); err == nil && keys < 256 {
				time.Sleep(s.delay)
			}
		}
		return next(ctx, cmd)
	}
}

func slow(clients []redis.UniversalClient, delay time.Duration) {
	for _, c := range clients {
		c.(*redis.Client).AddHook(slowBatch{delay})
	}
}

// plainly hides the type of the clients. The Backend then uses them and nothing else: copies
// and other connections would not have the hooks.
func plainly(clients []redis.UniversalClient) []redis.UniversalClient {
	hidden := make([]redis.UniversalClient, len(clients))
	for i, c := range clients {
		hidden[i] = plain{c}
	}
	return hidden
}

// A grant is reported when its quorum has decided. It does not wait for the grants of
// other batches.
func TestVirtualRenewReportsAtOnce(t *testing.T) {
	const delay = time.Second
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		clients := f.clients()
		b := newBackend(t, plainly(clients), redlock.WithNodeTimeout(3*time.Second))
		grants := make([]driver.Grant, 257)
		for i := range grants {
			r := request()
			r.Key = strconv.Itoa(i)
			grants[i] = acquire(t, b, r)
		}
		synctest.Wait()
		slow(clients, delay)
		start := time.Now()
		b.Renew(t.Context(), grants, func(i int, r driver.RenewResult) {
			want := time.Duration(0)
			if i == 256 {
				want = delay
			}
			if d := time.Since(start); d != want || r.Status != driver.Renewed {
				t.Errorf("grant %d: %v, %v after %v, want %v", i, r.Status, r.Err, d, want)
			}
		})
		if d := time.Since(start); d != delay {
			t.Errorf("Renew took %v, want %v", d, delay)
		}
	})
}

// When the context ends, what is decided has its result, and the rest is Unknown.
func TestVirtualRenewReportsWhatIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		clients := f.clients()
		slow(clients, time.Second)
		b := newBackend(t, plainly(clients), redlock.WithNodeTimeout(3*time.Second))
		grants := make([]driver.Grant, 257)
		for i := range grants {
			r := request()
			r.Key = strconv.Itoa(i)
			grants[i] = acquire(t, b, r)
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		reports := 0
		b.Renew(ctx, grants, func(i int, r driver.RenewResult) {
			if reports++; reports == 1 {
				synctest.Wait() // the first batch is decided, and the other is not
				cancel()
			}
			switch {
			case i < 256 && r.Status != driver.Renewed:
				t.Errorf("grant %d: %v, %v", i, r.Status, r.Err)
			case i == 256 && (r.Status != driver.Unknown || r.Err == nil):
				t.Errorf("grant %d was not decided: %v, %v", i, r.Status, r.Err)
			}
		})
		if reports != len(grants) {
			t.Errorf("%d reports for %d grants", reports, len(grants))
		}
		time.Sleep(time.Second) // the late reports are not passed on
		if reports != len(grants) {
			t.Errorf("%d reports for %d grants, a second after Renew", reports, len(grants))
		}
	})
}
