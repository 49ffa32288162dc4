package redislock_test

import (
	"context"
	"crypto/tls"
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
	s := redistest.StartTLS(t, time.Now().Add(time.Hour), "--requirepass", "admin-xyzzy")
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

	expired := redistest.StartTLS(t, time.Now().Add(-time.Minute), "--requirepass", "admin-xyzzy")
	trust := func(c *tls.Config) func(o *redis.Options) { return func(o *redis.Options) { o.TLSConfig = c } }
	old, other := s.Trust(), s.Trust()
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
			"an unknown authority":    {s, trust(expired.Trust()), "certificate"},
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
	one, two := testkit.NewLocker(t, newBackend(), distlock.Config{}), testkit.NewLocker(t, newBackend(), distlock.Config{})
	for _, o := range []distlock.Opts{{}, {Mode: driver.Shared}, {Permits: 1}} {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second) // less than the wait without a message
		t.Cleanup(cancel)
		o.KeyTimeout = time.Minute
		s, err := one.Acquire(ctx, lockKey, o)
		noError(t, err)
		noError(t, s.Refresh(ctx))
		waited := make(chan error, 1)
		go func() {
			next, err := two.Acquire(ctx, lockKey, distlock.Opts{KeyTimeout: time.Minute, RetryInterval: time.Minute})
			if err == nil {
				err = next.Release(ctx)
			}
			waited <- err
		}()
		testkit.Eventually(t, "it waits, and listens", func() bool {
			return admin.ZCard(t.Context(), queueKey).Val() == 1 && server{Client: admin}.inboxes(t) == 1
		})
		noError(t, s.Release(ctx))
		noError(t, <-waited)

		s, err = one.Acquire(ctx, lockKey, o)
		noError(t, err)
		if n := admin.Del(t.Context(), lockKey).Val(); n != 1 {
			t.Errorf("%d keys deleted", n)
		}
		matches(t, "after the loss", s.Refresh(ctx), driver.ErrLost)
		matches(t, "release after the loss", s.Release(ctx), driver.ErrLost)
	}
}
