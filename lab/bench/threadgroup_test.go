package main

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// started runs g with samples of one second, and returns the start times of each user's
// samples.
func started(ctx context.Context, g threadGroup) map[int][]time.Duration {
	start := time.Now()
	var mu sync.Mutex
	at := map[int][]time.Duration{}
	g.run(ctx, func(user int) {
		mu.Lock()
		at[user] = append(at[user], time.Since(start))
		mu.Unlock()
		<-time.After(time.Second)
	})
	return at
}

func TestRampUpAndThink(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		group threadGroup
		want  map[int][]time.Duration
	}{
		"think before each sample": {
			threadGroup{users: 4, loops: 2, rampUp: 2 * time.Second, think: 100 * ms},
			map[int][]time.Duration{
				0: {100 * ms, 1200 * ms},
				1: {600 * ms, 1700 * ms},
				2: {1100 * ms, 2200 * ms},
				3: {1600 * ms, 2700 * ms},
			},
		},
		"all at once": {
			threadGroup{users: 2, loops: 3},
			map[int][]time.Duration{0: {0, 1000 * ms, 2000 * ms}, 1: {0, 1000 * ms, 2000 * ms}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got := started(t.Context(), test.group); !reflect.DeepEqual(got, test.want) {
					t.Errorf("samples began at %v, want %v", got, test.want)
				}
			})
		})
	}
}

func TestGroupEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		start := time.Now()
		got := started(ctx, threadGroup{users: 10, loops: 10, rampUp: 10 * time.Second})
		// The samples of user 0 begin at 0 and 1, of user 1 at 1.
		if len(got[0]) != 2 || len(got[1]) != 1 || len(got) != 2 {
			t.Errorf("samples began at %v", got)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("the group ended after %v, want 2s, when the last sample was over", took)
		}
	})
}
