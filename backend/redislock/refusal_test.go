package redislock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// matches checks that err matches exactly the given errors.
func matches(t *testing.T, what string, err error, want ...error) {
	t.Helper()
	for _, e := range []error{
		driver.ErrNotAcquired, driver.ErrLost, distlock.ErrKey, distlock.ErrQueueFull, distlock.ErrUnavailable,
		distlock.ErrClosed, distlock.ErrNoFencing, distlock.ErrUpgrade, distlock.ErrReentry, context.Canceled, context.DeadlineExceeded,
	} {
		if got := errors.Is(err, e); got != slices.Contains(want, e) {
			t.Errorf("%s: errors.Is(%v, %v) = %v", what, err, e, got)
		}
	}
}

// says checks that an error contains the server's own words.
func says(t *testing.T, what string, err error, word string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), word) {
		t.Errorf("%s: %v, want %q in it", what, err, word)
	}
}

// Whoever polls a lock that another holds costs the server one script for each attempt, and
// changes nothing, whatever took the lock, and whether others wait.
func TestRefusedTryWritesNothing(t *testing.T) {
	t.Parallel()
	const attempts = 50
	s, ctx := realServer(t), t.Context()
	locker := testkit.NewLocker(t, newBackend(t, s.Client), distlock.Config{})
	try := func() {
		if _, err := locker.TryAcquire(ctx, lockKey, distlock.Opts{}); !errors.Is(err, distlock.ErrNotAcquired) {
			t.Error(err)
		}
	}
	for _, value := range []string{"a1 " + token(1e15), "a1 ~" + token(1e15), "of another library"} {
		for _, waiter := range []string{"", "b:b1"} {
			s.FlushAll(ctx)
			s.Set(ctx, lockKey, value, time.Hour)
			if waiter != "" {
				s.ZAdd(ctx, queueKey, redis.Z{Score: 1, Member: waiter})
			}
			try() // it may be the first, which looks at the server
			scripts, writes := s.scriptCalls(t), s.real.Stat(t, "rdb_changes_since_last_save")
			for range attempts {
				try()
			}
			n, w := s.scriptCalls(t)-scripts, s.real.Stat(t, "rdb_changes_since_last_save")-writes
			if n != attempts || w != 0 {
				t.Errorf("%q, %q waits: %d refused attempts are %d scripts with %d writes", value, waiter, attempts, n, w)
			}
		}
	}
}

// A server is alive and refuses. Nothing is left afterwards.
//
// Row 17 (redislock): callers get ErrUnavailable with the server's words, holders lose
// nothing, and renewals and releases succeed under OOM. Fails if a wait loses the
// errors of its attempts when its context ends during one, or if a renewal writes what
// a full server refuses.
func TestRefusals(t *testing.T) {
	testmode.Long(t)
	for _, refusal := range redistest.Refusals() {
		t.Run(refusal.Error, func(t *testing.T) {
			t.Parallel()
			var s *redistest.Server
			if refusal.Cluster {
				s = redistest.StartCluster(t, 1)[0]
			} else {
				s = redistest.Start(t)
			}
			b := redislock.Open(s.Client(t), redislock.Config{OpTimeout: 10 * time.Second})
			locker := distlock.New(b, distlock.Config{})
			defer locker.Close()
			opts := distlock.Opts{KeyTimeout: time.Minute, RetryInterval: 20 * time.Millisecond}
			held := must(locker.Acquire(t.Context(), "held", opts))
			leaving := must(locker.Acquire(t.Context(), "leaving", opts))

			end := refusal.Begin(t, s)
			_, err := locker.TryAcquire(t.Context(), "free", opts)
			matches(t, "TryAcquire", err, distlock.ErrUnavailable)
			says(t, "TryAcquire", err, refusal.Error)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			_, err = locker.Acquire(ctx, "free", opts)
			cancel()
			matches(t, "Acquire", err, distlock.ErrUnavailable, driver.ErrNotAcquired, context.DeadlineExceeded)
			says(t, "Acquire", err, refusal.Error)

			refreshed, released := held.Refresh(t.Context()), leaving.Release(t.Context())
			for what, err := range map[string]error{"renewal": refreshed, "release": released} {
				if refusal.Error == "OOM" {
					matches(t, what, err)
					continue
				}
				matches(t, what, err, distlock.ErrUnavailable)
				says(t, what, err, refusal.Error)
			}
			if err := held.Check(); err != nil {
				t.Errorf("who holds a lock meanwhile: %v", err)
			}

			end()
			// Failed releases are repeated in the background.
			testkit.Eventually(t, "nothing but the one lock is left", func() bool { return slices.Equal(left(s), []string{"held"}) })
			for _, key := range []string{"leaving", "free"} {
				s := must(locker.Acquire(t.Context(), key, opts))
				if key == "leaving" && s.Token() <= leaving.Token() {
					t.Errorf("token %d after %d", s.Token(), leaving.Token())
				}
				matches(t, "release afterwards", s.Release(t.Context()))
			}
			matches(t, "renewal afterwards", held.Refresh(t.Context()))
			matches(t, "release by the holder", held.Release(t.Context()))
			noError(t, locker.Close())
			if n := b.InDoubt(); n != 0 {
				t.Errorf("%d owners in doubt", n)
			}
			nothingLeft(t, s)
		})
	}
}

// A try without an answer is sent again. If the second copy is refused, the first one does not
// take the key when it arrives: the caller has gone.
func TestRefusedTryLeavesNothing(t *testing.T) {
	plain(t, func(t *testing.T, p plainly) {
		p.Set(t.Context(), lockKey, "another 1234567890123456", time.Minute)
		r := request(lockKey)
		for _, want := range []string{"set incrby exists evalsha", "evalsha hello client client evalsha evalsha"} { // the last one releases
			p.sent.take()
			p.sent.swallows = strings.HasPrefix(want, "evalsha")
			if _, err := p.b.TryAcquire(t.Context(), r); !errors.Is(err, driver.ErrNotAcquired) || p.sent.take() != want {
				t.Errorf("%v, not after %q", err, want)
			}
		}
		p.Del(t.Context(), lockKey)
		if g, err := newBackend(t, p.Client).TryAcquire(t.Context(), r); err == nil {
			t.Errorf("the late copy got %+v", g)
		}
	})
}

// Somebody deletes a key in redis-cli, and the waiter has it long before it would look again.
func TestOutsideDelete(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	r := request(lockKey)
	r.TTL = time.Hour
	mustTry(t, newBackend(t, s.real.Client(t)), r)
	time.AfterFunc(100*time.Millisecond, func() { s.Del(context.Background(), lockKey) })
	l := testkit.NewLocker(t, newBackend(t, s.Client), distlock.Config{})
	lease := testkit.MustAcquire(t, l, lockKey, distlock.Opts{RetryInterval: time.Hour, MaxWait: 10 * time.Second})
	noError(t, lease.Release(t.Context()))
}
