package redislock_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// clientLog receives the log of go-redis.
type clientLog struct{ to *child.Output }

func (l clientLog) Printf(_ context.Context, format string, v ...any) {
	_, _ = fmt.Fprintf(l.to, format+"\n", v...)
}

// A lock works over TLS with authentication and only the documented permissions: it is
// acquired, renewed, waited for, passed on by a message, released, and its loss is
// noticed. A client that is refused gets the reason, and no password is ever printed.
func TestTLSAndAuth(t *testing.T) {
	testmode.Long(t)
	authority := redistest.NewAuthority(t)
	s := authority.StartTLS(t, time.Now().Add(time.Hour), "--requirepass", "admin-xyzzy")
	admin := s.Client(t, func(o *redis.Options) { o.Password = "admin-xyzzy" })
	redistest.SetUser(t, admin, documentedRules(t))
	var said child.Output
	redis.SetLogger(clientLog{&said})
	logger := redislock.WithLogger(slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})))

	t.Run("in", func(t *testing.T) {
		useEverything(t, admin, func() *redislock.Backend {
			return redislock.New(s.Client(t, redistest.AsUser), logger, unhurried)
		})
	})

	expired := authority.StartTLS(t, time.Now().Add(-time.Minute), "--requirepass", "admin-xyzzy")
	trust := func(c *tls.Config) func(o *redis.Options) { return func(o *redis.Options) { o.TLSConfig = c } }
	old, other := authority.Trust(), authority.Trust()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
	other.ServerName = "redis.example"
	as := func(user string) func(o *redis.Options) {
		return func(o *redis.Options) { o.Username, o.Password = user, "wrong-xyzzy" }
	}
	t.Run("out", func(t *testing.T) {
		for name, c := range map[string]struct {
			server *redistest.Server
			change func(*redis.Options)
			says   string
		}{
			"a wrong password":        {s, as("locker"), "WRONGPASS"},
			"a user that is not":      {s, as("nobody"), "WRONGPASS"},
			"an old-fashioned login":  {s, as(""), "WRONGPASS"},
			"no password":             {s, func(*redis.Options) {}, "NOAUTH"},
			"an unknown authority":    {s, trust(redistest.NewAuthority(t).Trust()), "certificate"},
			"the machine's authority": {s, trust(&tls.Config{MinVersion: tls.VersionTLS12}), "certificate"},
			"another name":            {s, trust(other), "certificate"},
			"an expired certificate":  {expired, as("locker"), "certificate has expired"},
			"an old version":          {s, trust(old), "version"},
			"without TLS":             {s, trust(nil), "(EOF|reset by peer|broken pipe)"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				// The client dials several times before it reports the reason.
				tellsWhy(t, c.server.Client(t, c.change), ".*"+c.says, logger, redislock.WithOpTimeout(20*time.Second))
			})
		}
	})

	for _, secret := range []string{"xyzzy", `"pw"`, ">pw"} {
		if strings.Contains(said.String(), secret) {
			t.Errorf("the log says %q:\n%s", secret, said.String())
		}
	}
}

// useEverything uses a lock in every way, as two processes.
func useEverything(t *testing.T, admin *redis.Client, newBackend func() *redislock.Backend) {
	t.Helper()
	one, two := distlock.New(newBackend(), distlock.Config{}), distlock.New(newBackend(), distlock.Config{})
	defer one.Close()
	defer two.Close()
	const patient = 15 * time.Second // less than the wait without a message
	o := distlock.Opts{KeyTimeout: time.Minute, RetryInterval: time.Minute}
	for _, kind := range []distlock.Opts{{}, {Mode: driver.Shared}, {Permits: 1}} {
		ctx, cancel := context.WithTimeout(t.Context(), patient)
		t.Cleanup(cancel)
		kind.KeyTimeout = o.KeyTimeout
		s, err := one.Acquire(ctx, lockKey, kind)
		noError(t, err)
		noError(t, s.Refresh(ctx))
		if _, err := two.TryAcquire(ctx, lockKey, distlock.Opts{}); !errors.Is(err, driver.ErrNotAcquired) || errors.Is(err, distlock.ErrUnavailable) {
			t.Errorf("%v: the other: %v", kind.Mode, err)
		}
		waited := make(chan error, 1)
		go func() {
			waited <- two.Do(ctx, lockKey, o, func(ctx context.Context) error {
				lease, _ := distlock.FromContext(ctx)
				if lease.Token() <= s.Token() {
					t.Errorf("token %d after %d", lease.Token(), s.Token())
				}
				return nil
			})
		}()
		testkit.Eventually(t, "it waits, and listens", func() bool {
			return admin.ZCard(t.Context(), queueKey).Val() == 1 && len(admin.PubSubChannels(t.Context(), "distlock:inbox:*").Val()) == 1
		})
		noError(t, s.Release(ctx))
		if err := <-waited; err != nil {
			t.Errorf("%v: the one that waited: %v", kind.Mode, err)
		}

		s, err = one.Acquire(ctx, lockKey, kind)
		noError(t, err)
		if n := admin.Del(t.Context(), lockKey).Val(); n != 1 {
			t.Errorf("%d keys deleted", n)
		}
		if err := s.Refresh(ctx); !errors.Is(err, driver.ErrLost) {
			t.Errorf("%v: after the loss: %v", kind.Mode, err)
		}
		if err := s.Release(ctx); !errors.Is(err, driver.ErrLost) {
			t.Errorf("%v: release after the loss: %v", kind.Mode, err)
		}
	}
}
