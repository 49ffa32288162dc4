package locktest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/locktest"
)

// failing is a test that may fail.
type failing struct {
	testing.TB
	with []string
}

func (f *failing) Errorf(format string, args ...any) {
	f.with = append(f.with, fmt.Sprintf(format, args...))
}

// shop is a Locker whose locks have the name of a case in front, because all cases of the
// process share what Order has seen.
type shop struct {
	*testing.T
	*distlock.Locker
	name string
}

func (s shop) opts(prefix string) distlock.Opts {
	if prefix == ":" {
		return distlock.Opts{}
	}
	o := distlock.Opts{Prefix: s.name + "." + prefix}
	if strings.HasPrefix(prefix, "r") {
		o.Mode = distlock.Shared
	}
	return o
}

// do takes the locks, such as "a:1", one under the other, and then calls last.
func (s shop) do(ctx context.Context, last func(ctx context.Context) error, locks ...string) {
	s.Helper()
	run := last
	for i := len(locks) - 1; i >= 0; i-- {
		prefix, key, _ := strings.Cut(locks[i], ":")
		inner := run
		run = func(ctx context.Context) error { return s.Do(ctx, key, s.opts(prefix+":"), inner) }
	}
	if err := run(ctx); err != nil {
		s.Error(err)
	}
}

func (s shop) nest(locks ...string) { s.do(s.Context(), nothing, locks...) }

func nothing(context.Context) error { return nil }

// acquire takes a lock under a context, which need not be that of a lease.
func (s shop) acquire(ctx context.Context, acquire acquireKey, lock string) *distlock.Lease {
	prefix, key, _ := strings.Cut(lock, ":")
	lease, err := acquire(ctx, key, s.opts(prefix+":"))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = lease.Release(context.Background()) })
	return lease
}

type acquireKey = func(ctx context.Context, key string, o distlock.Opts) (*distlock.Lease, error)

// A lease that is lost is not held any more, also before its release.
func TestOrderAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shop{t, testkit.NewLocker(t, memlock.New(), distlock.Config{Hooks: locktest.Order(t)}), t.Name()}
		s.nest("a:1", "b:1")
		_, _ = admin.ForceRelease(t.Context(), s.Locker, s.acquire(t.Context(), s.Acquire, "b:1").Key())
		synctest.Wait()
		s.nest("a:1")
	})
}

func TestOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]nesting{
		"two orders":       {func(s shop) { s.nest("a:1", "b:1"); s.nest("b:2", "a:2") }, "b:1 a:1 a:2 b:2"},
		"without a name":   {func(s shop) { s.nest("a:1", ":x"); s.nest(":y", "a:2") }, ""},
		"one order":        {func(s shop) { s.nest("a:1", "b:1"); s.nest("a:2", "b:2"); s.nest("b:1"); s.nest("a:1") }, ""},
		"a circle":         {func(s shop) { s.nest("a:1", "b:1"); s.nest("b:1", "c:1"); s.nest("c:1", "a:1") }, "b:1 a:1 c:1 b:1 a:1 c:1"},
		"over one between": {func(s shop) { s.nest("a:1", "b:1", "c:1"); s.nest("c:1", "a:1") }, "c:1 a:1 a:1 c:1"},
		"keys of a name":   {func(s shop) { s.nest("a:1", "a:2"); s.nest("a:2", "a:1") }, "a:2 a:1 a:1 a:2"},
		"keys in order":    {func(s shop) { s.nest("a:1", "a:2"); s.nest("a:2", "a:3"); s.nest("a:1", "a:3") }, ""},
		"readers":          {func(s shop) { s.nest("r:1", "ra:1"); s.nest("ra:1", "r:1") }, "ra:1 r:1 r:1 ra:1"},
		"re-entry":         {func(s shop) { s.nest("a:1", "b:1", "a:1"); s.nest("a:1", "a:1") }, ""},
		"below a re-entry": {func(s shop) { s.nest("a:1", "b:1", "a:1", "c:1"); s.nest("c:1", "b:1") }, "c:1 b:1 b:1 c:1"},
		"one after the other": {func(s shop) {
			s.nest("a:1")
			s.nest("b:1")
			s.nest("a:1")
		}, ""},
		"all at once": {func(s shop) {
			for _, keys := range [][]string{{"1", "2"}, {"2", "1"}} {
				if err := s.DoAll(s.Context(), keys, s.opts("a:"), func(ctx context.Context) error { s.do(ctx, nothing, "b:1"); return nil }); err != nil {
					s.Error(err)
				}
			}
		}, ""},
		"one that does not wait": {func(s shop) {
			s.nest("a:1", "b:1")
			s.do(s.Context(), func(ctx context.Context) error { s.acquire(ctx, s.TryAcquire, "a:1"); return nil }, "b:1")
		}, ""},
		"below one that does not wait": {func(s shop) {
			s.nest("c:1", "b:1")
			s.do(s.Context(), func(ctx context.Context) error {
				s.do(s.acquire(ctx, s.TryAcquire, "a:1").Context(), nothing, "c:1")
				return nil
			}, "b:1")
		}, "b:1 c:1 c:1 b:1"},
		"with the outer context": {func(s shop) {
			s.nest("a:1", "b:1")
			s.acquire(s.Context(), s.Acquire, "b:1")
			s.acquire(s.Context(), s.Acquire, "a:1")
		}, "b:1 a:1 a:1 b:1"},
		"after a release": {func(s shop) {
			s.nest("a:1", "b:1")
			_ = s.acquire(s.Context(), s.Acquire, "b:1").Release(s.Context())
			s.acquire(s.Context(), s.Acquire, "a:1")
		}, ""},
		"on another goroutine": {func(s shop) {
			s.nest("a:1", "b:1")
			lease, done := s.acquire(s.Context(), s.Acquire, "b:1"), make(chan bool)
			go func() {
				s.nest("a:1")
				s.do(distlock.Detach(lease.Context()), nothing, "a:1")
				close(done)
			}()
			<-done
		}, ""},
		"on another goroutine, below the lease": {func(s shop) {
			s.nest("a:1", "b:1")
			lease, done := s.acquire(s.Context(), s.Acquire, "b:1"), make(chan bool)
			go func() { s.do(lease.Context(), nothing, "a:1"); close(done) }()
			<-done
		}, "b:1 a:1 a:1 b:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // what was found once is found again
				t.Run("", func(t *testing.T) { c.test(t, strings.ReplaceAll(name, " ", "-")) })
			}
		})
	}
}

// nesting is a program, and what the message about it names, without the name of the case.
type nesting struct {
	run  func(s shop)
	want string
}

func (c nesting) test(t *testing.T, name string) {
	f := &failing{TB: t}
	c.run(shop{t, testkit.NewLocker(t, memlock.New(), distlock.Config{Hooks: locktest.Order(f)}), name})
	var keys []string
	for _, text := range f.with {
		for word := range strings.FieldsSeq(text) {
			if key, ok := strings.CutPrefix(word, name+"."); ok && strings.HasSuffix(word, ")") {
				keys = append(keys, strings.TrimSuffix(key, ")"))
			}
		}
		if strings.Count(text, "order_test.go:") != len(keys) {
			t.Errorf("not all have a place: %s", text)
		}
	}
	if got := strings.Join(keys, " "); got != c.want || len(f.with) > 1 {
		t.Errorf("got %q, want %q: %s", got, c.want, f.with)
	}
}
