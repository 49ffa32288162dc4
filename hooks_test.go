package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
)

func TestHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		var mu sync.Mutex
		var events []string
		note := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, fmt.Sprintf(format, args...))
		}
		traced := func(ctx context.Context) any { return ctx.Value(ctxKey{}) }
		l := distlock.New(s, distlock.Config{HandOvers: -1, Hooks: distlock.Hooks{
			Start: func(ctx context.Context, i distlock.StartInfo) context.Context {
				note("start %s %s", i.Name, i.Key)
				return context.WithValue(ctx, ctxKey{}, "span")
			},
			Acquired: func(ctx context.Context, i distlock.AcquiredInfo) {
				note("acquired %s %s %d after %v again=%v in %v", i.Name, i.Key, i.Token, i.Wait, i.Reentrant, traced(ctx))
			},
			Failed: func(ctx context.Context, i distlock.FailedInfo) {
				note("failed %s %s after %v busy=%v in %v", i.Name, i.Key, i.Wait, errors.Is(i.Err, distlock.ErrNotAcquired), traced(ctx))
			},
			Lost: func(i distlock.LostInfo) {
				note("lost %s %s %d after %v lost=%v", i.Name, i.Key, i.Token, i.Held, errors.Is(i.Err, distlock.ErrLost))
			},
			Released: func(ctx context.Context, i distlock.ReleasedInfo) {
				note("released %s %s %d after %v err=%v in %v", i.Name, i.Key, i.Token, i.Held, i.Err, traced(ctx))
			},
		}})
		o := distlock.Opts{Prefix: "shop:", Value: "pay"}
		_ = l.Do(t.Context(), "7", o, func(ctx context.Context) error {
			if traced(ctx) != "span" {
				t.Error("the span did not reach the function")
			}
			time.Sleep(time.Second)
			_, _ = l.TryAcquire(t.Context(), "7", o)
			return l.Do(ctx, "7", o, func(context.Context) error { return nil })
		})
		held := mustAcquire(t, l, "8", distlock.Opts{KeyTimeout: time.Second, MaxHold: time.Second / 2})
		<-held.Context().Done()
		synctest.Wait() // the hook is called after the cancellation
		_ = held.Release(t.Context())
		closeLocker(t, l)

		want := []string{
			"start shop:pay shop:7",
			"acquired shop:pay shop:7 1 after 0s again=false in span",
			"start shop:pay shop:7",
			"failed shop:pay shop:7 after 0s busy=true in span",
			"start shop:pay shop:7",
			"acquired shop:pay shop:7 1 after 0s again=true in span",
			"released shop:pay shop:7 1 after 1s err=<nil> in span",
			"start  8",
			"acquired  8 2 after 0s again=false in span",
			"lost  8 2 after 500ms lost=true",
			`released  8 2 after 500ms err=distlock: release "8": lock lost: held for MaxHold, 500ms in <nil>`,
		}
		if !reflect.DeepEqual(events, want) {
			t.Errorf("events:\n%q\nwant:\n%q", events, want)
		}
	})
}
