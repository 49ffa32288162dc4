package redislock_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// readable checks an error for operators: it is one line, matches the pattern, which
// includes the address, and contains no password.
func readable(t *testing.T, what string, err error, pattern string) {
	t.Helper()
	if err == nil || !regexp.MustCompile(pattern).MatchString(err.Error()) {
		t.Errorf("%s: %v\ndoes not match %s", what, err, pattern)
	}
	if err != nil && (strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "xyzzy")) {
		t.Errorf("%s: %q is not fit to be read", what, err)
	}
}

// tellsWhy uses a client that fails every operation. Every error has the reason, from
// the first operation to the operations after the client has stopped trying.
func tellsWhy(t *testing.T, c redis.UniversalClient, pattern string, cfg redislock.Config) {
	t.Helper()
	cfg.OpTimeout = cmp.Or(cfg.OpTimeout, 500*time.Millisecond)
	b := redislock.Open(c, cfg)
	l := distlock.New(b, distlock.Config{CloseTimeout: time.Millisecond})
	defer l.Close()
	ctx := t.Context()
	for range 2 {
		_, err := l.TryAcquire(ctx, lockKey, distlock.Opts{})
		matches(t, "TryAcquire", err, distlock.ErrUnavailable)
		readable(t, "TryAcquire", err, `^distlock: acquire "shop:pay": lock backend unavailable: redislock: `+pattern)
	}
	r := request(lockKey)
	for what, f := range map[string]func() error{
		"Acquire":      func() error { _, err := b.Enqueue(ctx, r); return err },
		"Renew":        func() error { return driver.RenewAll(ctx, b, []driver.Grant{r.Grant()})[0] },
		"Release":      func() error { return b.Release(ctx, r.Grant()) },
		"Inspect":      func() error { _, err := b.Inspect(ctx, lockKey, 1); return err },
		"ForceRelease": func() error { _, err := b.ForceRelease(ctx, lockKey); return err },
		"Ping":         func() error { return b.Ping(ctx) },
	} {
		err := f()
		matches(t, what, err)
		readable(t, what, err, "^redislock: "+pattern)
	}
}

// An error has the address and the reason, for each way to have no server.
func TestOutageText(t *testing.T) {
	const late = `no answer within the operation timeout of 500ms: `
	addr := child.ClosedAddr(t)
	refused := `(` + late + `)?dial tcp ` + addr + `: connect: connection refused`
	for name, c := range map[string]struct {
		long   bool
		client func(t *testing.T) redis.UniversalClient
		says   string
	}{
		"down": {false, func(*testing.T) redis.UniversalClient {
			return redis.NewClient(&redis.Options{Addr: addr, Password: "pw-xyzzy"})
		}, refused},
		"Cluster is down": {true, func(*testing.T) redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}, Password: "pw-xyzzy"})
		}, refused},
		// Its client tries for longer than an operation may take.
		"Sentinel is down": {true, func(*testing.T) redis.UniversalClient {
			return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: []string{addr}, Password: "pw-xyzzy"})
		}, `the master that Sentinel names: ` + late + `(no connection for [\d.]+m?s|redis: all sentinels .*)$`},
		"wrong host": {false, func(*testing.T) redis.UniversalClient {
			return redis.NewClient(&redis.Options{Addr: "redis.internal:6379", Dialer: func(_ context.Context, network, _ string) (net.Conn, error) {
				// The error of package net, without asking the resolver of this
				// machine.
				return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no such host", Name: "redis.internal", IsNotFound: true}}
			}})
		}, `redis\.internal:6379: (` + late + `)?dial tcp: lookup redis\.internal: no such host$`},
		"no way": {true, func(t *testing.T) redis.UniversalClient {
			t.Helper()
			return redis.NewClient(&redis.Options{Addr: "192.0.2.1:6379", DialerRetries: 1, Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
				select { // as if packets were dropped
				case <-ctx.Done():
				case <-t.Context().Done():
				}
				return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
			}})
		}, `192\.0\.2\.1:6379: ` + late + `(no connection for [\d.]+m?s|dial tcp: i/o timeout)$`},
		"no password": {true, func(t *testing.T) redis.UniversalClient {
			t.Helper()
			return redistest.Start(t, "--requirepass", "secret-xyzzy").Client(t)
		}, `127[\d.:]+: .*NOAUTH`},
		"wrong password": {false, func(t *testing.T) redis.UniversalClient {
			t.Helper()
			return redistest.Start(t, "--requirepass", "secret-xyzzy").Client(t, func(o *redis.Options) { o.Password = "wrong-xyzzy" })
		}, `127[\d.:]+: .*WRONGPASS`},
		"maxclients": {false, func(t *testing.T) redis.UniversalClient {
			t.Helper()
			s := redistest.Start(t)
			if err := s.Client(t).ConfigSet(t.Context(), "maxclients", "1").Err(); err != nil {
				t.Fatal(err)
			}
			return s.Client(t)
		}, `127[\d.:]+: .*(max number of clients reached|it may want TLS, or have reached maxclients)$`},
		"hangs": {true, func(t *testing.T) redis.UniversalClient {
			t.Helper()
			s := redistest.Start(t)
			s.Stop()
			t.Cleanup(s.Cont)
			return s.Client(t)
		}, `127[\d.:]+: ` + late + `it takes connections, but answers nothing`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.long {
				testmode.Long(t)
			}
			client := c.client(t)
			defer client.Close()
			tellsWhy(t, client, c.says, redislock.Config{})
		})
	}
}

// clientLog receives the log of go-redis.
type clientLog struct{ to *child.Output }

func (l clientLog) Printf(_ context.Context, format string, v ...any) {
	_, _ = fmt.Fprintf(l.to, format+"\n", v...)
}

// A client that is refused over TLS gets the reason, and no password is ever printed.
// The suite passes over TLS: see TestConformanceACL.
func TestTLSAndAuth(t *testing.T) {
	testmode.Long(t)
	s := redistest.StartTLS(t, time.Now().Add(time.Hour), "--requirepass", "admin-xyzzy")
	redistest.SetUser(t, s.Client(t, func(o *redis.Options) { o.Password = "admin-xyzzy" }), documentedRules(t))
	var said child.Output
	redis.SetLogger(clientLog{&said})
	logger := slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))

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
				tellsWhy(t, c.server.Client(t, c.change), ".*"+c.says, redislock.Config{Logger: logger, OpTimeout: 20 * time.Second})
			})
		}
	})

	for _, secret := range []string{"xyzzy", `"pw"`, ">pw"} {
		if strings.Contains(said.String(), secret) {
			t.Errorf("the log says %q:\n%s", secret, said.String())
		}
	}
}
