package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// takeAll acquires many locks at once and returns the results.
func takeAll(b driver.Backend, keys []string) ([]driver.Grant, []error) {
	grants, errs := make([]driver.Grant, len(keys)), make([]error, len(keys))
	var wg sync.WaitGroup
	for i, key := range keys {
		wg.Go(func() { grants[i], errs[i] = b.TryAcquire(context.Background(), request(key)) })
	}
	wg.Wait()
	return grants, errs
}

func giveAll(t *testing.T, b driver.Backend, grants []driver.Grant) {
	t.Helper()
	var wg sync.WaitGroup
	for _, g := range grants {
		wg.Go(func() {
			if err := b.Release(context.Background(), g); err != nil {
				t.Errorf("%s: release: %v", g.Key, err)
			}
		})
	}
	wg.Wait()
}

// A plain client of one master of a Cluster gets the locks on that master, and an error
// for the others.
func TestPlainClientOfACluster(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	c := &redistest.Cluster{Masters: redistest.StartCluster(t, 2)}
	b := newBackend(t, c.Masters[0].Client(t))
	for range 5 {
		var keys []string
		for i := range 60 {
			keys = append(keys, fmt.Sprint("k:", i))
		}
		grants, errs := takeAll(b, keys)
		var here []driver.Grant
		for i, err := range errs {
			there := c.Slot(t, keys[i]) >= 16384/2
			if there && !redis.HasErrorPrefix(err, "MOVED") || !there && err != nil {
				t.Errorf("%s, elsewhere %v: %v", keys[i], there, err)
			}
			if err == nil {
				here = append(here, grants[i])
			}
		}
		if len(here) == 0 || len(here) == len(keys) {
			t.Fatalf("%d of %d are here", len(here), len(keys))
		}
		giveAll(t, b, here)
	}
	nothingLeft(t, c.Masters...)
}

// The server forgets its scripts repeatedly.
//
// Row 16 (redislock): all waiters are served, tokens rise, every release gets a reply.
// Fails if a script that the server has forgotten is not sent again each time.
func TestScriptsForgottenUnderLoad(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	l := newLoadWith(t, loadOpts.KeyTimeout, loadKeys(8), s.real.Client(t), s.real.Client(t))
	ctx, cancel := context.WithCancel(t.Context())
	var flusher sync.WaitGroup
	var flushes atomic.Int64
	defer flusher.Wait()
	defer cancel()
	flusher.Go(func() {
		for ctx.Err() == nil {
			if err := s.ScriptFlush(ctx).Err(); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			flushes.Add(1)
		}
	})
	l.start(6, 2)
	l.goOn(1000)
	testkit.Eventually(t, "scripts were forgotten often", func() bool { return flushes.Load() > 100 && s.real.ErrorStat(t, "NOSCRIPT") > 20 })
	l.stop()
	if n := l.told("released"); n != l.reg.Uses() {
		t.Errorf("%d served, told %v", l.reg.Uses(), l.errors)
	}
	nothingLeft(t, s.real)
}
