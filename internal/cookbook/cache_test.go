package cookbook_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/cookbook"
)

// cache is a cookbook.Cache that forgets nothing.
type cache struct{ sync.Map }

func (c *cache) Get(_ context.Context, key string) (cookbook.Entry, bool, error) {
	e, found := c.Load(key)
	if !found {
		return cookbook.Entry{}, false, nil
	}
	return e.(cookbook.Entry), true, nil
}

func (c *cache) Set(_ context.Context, key string, e cookbook.Entry) error {
	c.Store(key, e)
	return nil
}

// shelf is the database behind the cache.
type shelf struct {
	takes time.Duration
	err   error
	loads atomic.Int32
}

func (s *shelf) load(ctx context.Context, _ string) (string, error) {
	s.loads.Add(1)
	select {
	case <-time.After(s.takes):
		return "new tea", s.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// result is what callers got.
type result struct {
	value string
	after time.Duration
}

// ask lets fifty callers in five processes ask for the tea, and counts what they get.
// The value is the code of the error if there is one.
func ask(t *testing.T, processes []*distlock.Locker, c cookbook.Cache, s *shelf) map[result]int {
	t.Helper()
	var mu sync.Mutex
	got := map[result]int{}
	start := time.Now()
	together(processes, 10, func(l *distlock.Locker) {
		catalog := cookbook.Catalog{Locker: l, Cache: c, Load: s.load}
		value, err := catalog.Get(t.Context(), "green tea") // strangers choose keys
		if err != nil {
			value = distlock.CodeOf(err).String()
		}
		mu.Lock()
		defer mu.Unlock()
		got[result{value, time.Since(start)}]++
	})
	return got
}

// TestCatalog: fifty callers in five processes ask for the same key.
func TestCatalog(t *testing.T) {
	t.Parallel()
	stale := cookbook.Entry{Value: "old tea"}
	for name, c := range map[string]struct {
		takes time.Duration
		err   error
		stale bool
		down  bool
		loads int32
		want  map[result]int
	}{
		"empty": {
			takes: time.Second, loads: 1,
			want: map[result]int{{"new tea", time.Second}: 50},
		},
		"stale": {
			takes: time.Second, stale: true, loads: 1,
			want: map[result]int{{"new tea", time.Second}: 1, {"old tea", 0}: 49},
		},
		"too slow": {
			takes: 5 * time.Second, loads: 1,
			want: map[result]int{{"new tea", 5 * time.Second}: 1, {"not_acquired", 3 * time.Second}: 49},
		},
		"stale, and the database fails": {
			takes: time.Second, err: errors.New("no such table"), stale: true, loads: 1,
			want: map[result]int{{"old tea", time.Second}: 1, {"old tea", 0}: 49},
		},
		"without the store": {
			takes: time.Second, down: true, loads: 50,
			want: map[result]int{{"new tea", 4 * time.Second}: 50},
		},
		"stale, without the store": {
			takes: time.Second, stale: true, down: true, loads: 0,
			want: map[result]int{{"old tea", 0}: 50},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, processes := newProcesses(t, 5)
				if c.down {
					for i := range processes {
						processes[i] = newDead(t)
					}
				}
				values, s := new(cache), &shelf{takes: c.takes, err: c.err}
				if c.stale {
					values.Store("green tea", stale)
				}
				got := ask(t, processes, values, s)
				if n := s.loads.Load(); n != c.loads {
					t.Errorf("%d loads, want %d", n, c.loads)
				}
				for r, n := range c.want {
					if got[r] != n {
						t.Errorf("got %v, want %v", got, c.want)
						break
					}
				}
			})
		})
	}
}
