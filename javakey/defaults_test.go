package javakey_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/javakey"
	"github.com/distlock-go/distlock/wiring"
)

// The defaults are those that the annotation declares.
func TestAspectDefaults(t *testing.T) {
	t.Parallel()
	annotation, err := os.ReadFile("../lab/interop/java/src/main/java/aspect/DistributedLock.java")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^ *(?:long|int) (\w+)\(\) default (\d+);$`).FindAllSubmatch(annotation, -1) {
		if declared[string(m[1])], err = strconv.Atoi(string(m[2])); err != nil {
			t.Fatal(err)
		}
	}
	opts := javakey.AspectDefaults()
	got := map[string]int{
		"keyTimeout": int(opts.KeyTimeout.Milliseconds()), "retryCount": opts.RetryCount, "retryInterval": int(opts.RetryInterval.Milliseconds()),
	}
	for name, n := range got {
		if n != declared[name] || n == 0 {
			t.Errorf("%s is %d, and the annotation has %d", name, n, declared[name])
		}
	}
	if len(declared) != len(got) || opts.ParamLock {
		t.Errorf("the annotation has the numbers %v; ParamLock is %t", declared, opts.ParamLock)
	}
}

// A caller with the defaults has a lease of a second under the key of the aspect. Another one
// gives up after the third attempt: two pauses of 0.5 to 1 s, and no third one as in Java.
func TestAspectDefaultsAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memlock.New()
		holder, other := distlock.New(store, distlock.Config{}), distlock.New(store, distlock.Config{})
		defer holder.Close()
		defer other.Close()
		opts := javakey.AspectDefaults()
		opts.Prefix, opts.Value, opts.ParamLock = "my-", "test", true
		if err := opts.Validate(); err != nil {
			t.Fatal(err)
		}
		site := func(l *distlock.Locker) *wiring.Site { return wiring.Bind(l, opts) }
		err := site(holder).Do(t.Context(), []any{"a", 7, nil}, func(ctx context.Context) error {
			lease, _ := distlock.FromContext(ctx)
			if left := time.Until(lease.Until()); left > time.Second || left < 900*time.Millisecond || lease.Key() != "my-test-97-7-locks" {
				t.Errorf("%s for %v", lease.Key(), left)
			}
			begin, ran := time.Now(), false
			err := site(other).Do(t.Context(), []any{"a", 7, nil}, func(context.Context) error { ran = true; return nil })
			if waited := time.Since(begin); waited < time.Second || waited > 2*time.Second {
				t.Errorf("the other caller waited for %v", waited)
			}
			if ran || !errors.Is(err, distlock.ErrNotAcquired) {
				t.Errorf("the other caller ran: %t, %v", ran, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
