package redislock_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
	s := authority.StartTLS(t, time.Now().Add(time.Hour), "--requirepass", "admin's")
	admin := s.Client(t, func(o *redis.Options) { o.Password = "admin's" })
	redistest.SetUser(t, admin, documentedRules(t))
	var said child.Output
	redis.SetLogger(clientLog{&said})
	logger := slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))

	t.Run("in", func(t *testing.T) {
		useEverything(t, admin, func() *redislock.Backend {
			return redislock.New(s.Client(t, redistest.AsUser), redislock.WithLogger(logger), unhurried)
		})
	})

	expired := authority.StartTLS(t, time.Now().Add(-time.Minute), "--requirepass", "admin's")
	plain := redistest.Start(t, "--requirepass", "admin's")
	wrong := func(o *redis.Options) { o.Username, o.Password = "locker", "not-the-pw-xyzzy" }
	strange := func(c *tls.Config) func(o *redis.Options) {
		return func(o *redis.Options) { o.TLSConfig = c }
	}
	old := authority.Trust()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
	other := authority.Trust()
	other.ServerName = "redis.example"
	t.Run("out", func(t *testing.T) {
		for name, c := range map[string]struct {
			server *redistest.Server
			change []func(*redis.Options)
			says   string // one of these words
		}{
			"a wrong password":        {s, []func(*redis.Options){wrong}, "WRONGPASS"},
			"a user that is not":      {s, []func(*redis.Options){wrong, func(o *redis.Options) { o.Username = "nobody" }}, "WRONGPASS"},
			"an old-fashioned login":  {s, []func(*redis.Options){wrong, func(o *redis.Options) { o.Username = "" }}, "WRONGPASS"},
			"no password":             {s, nil, "NOAUTH"},
			"no password, no TLS":     {plain, nil, "NOAUTH"},
			"an unknown authority":    {s, []func(*redis.Options){wrong, strange(redistest.NewAuthority(t).Trust())}, "certificate"},
			"the machine's authority": {s, []func(*redis.Options){wrong, strange(&tls.Config{MinVersion: tls.VersionTLS12})}, "certificate"},
			"another name":            {s, []func(*redis.Options){wrong, strange(other)}, "certificate"},
			"an expired certificate":  {expired, []func(*redis.Options){wrong}, "certificate has expired"},
			"an old version":          {s, []func(*redis.Options){wrong, strange(old)}, "version"},
			"without TLS":             {s, []func(*redis.Options){wrong, strange(nil)}, "EOF|reset by peer|broken pipe"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				mustNotGetIn(t, c.server.Client(t, c.change...), logger, c.says)
			})
		}
	})

	for _, secret := range []string{"not-the-pw-xyzzy", "admin's", `"pw"`, ">pw"} {
		if strings.Contains(said.String(), secret) {
			t.Errorf("the log says %q:\n%s", secret, said.String())
		}
	}
}

// tells checks a readable error: it contains one of the words.
func tells(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !slices.ContainsFunc(strings.Split(words, "|"), func(w string) bool { return strings.Contains(err.Error(), w) }) {
		t.Errorf("%v does not say %s", err, words)
	}
	if err != nil && (strings.Contains(err.Error(), "xyzzy") || strings.Contains(err.Error(), "admin's")) {
		t.Errorf("%v says the password", err)
	}
}

// mustNotGetIn tries all operations of a Locker and a Backend.
func mustNotGetIn(t *testing.T, c *redis.Client, logger *slog.Logger, want string) {
	t.Helper()
	// The client dials several times before it reports the reason.
	b := redislock.New(c, redislock.WithLogger(logger), redislock.WithOpTimeout(20*time.Second))
	l := distlock.New(b, distlock.Config{CloseTimeout: time.Millisecond})
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	errs := make(map[string]error)
	_, errs["TryAcquire"] = l.TryAcquire(ctx, lockKey, distlock.Opts{})
	_, errs["Acquire"] = l.Acquire(ctx, lockKey, distlock.Opts{RetryCount: 2, RetryInterval: time.Millisecond})
	_, errs["a reader"] = l.Acquire(ctx, lockKey, distlock.Opts{RetryCount: 1, Mode: driver.Shared})
	for name, err := range errs {
		if !errors.Is(err, distlock.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", name, err)
		}
		tells(t, err, want)
	}
	g := request(lockKey).Grant()
	got := driver.RenewAll(ctx, b, []driver.Grant{g})
	if got[0].Status != driver.Unknown {
		t.Errorf("Renew: %v", got[0].Status)
	}
	tells(t, got[0].Err, want)
	tells(t, b.Release(ctx, g), want)
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
