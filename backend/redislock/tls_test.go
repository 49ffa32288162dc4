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

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// clientLog receives the log of go-redis.
type clientLog struct{ to *child.Output }

func (l clientLog) Printf(_ context.Context, format string, v ...any) {
	_, _ = fmt.Fprintf(l.to, format+"\n", v...)
}

// A client that is refused over TLS gets the reason, and no password is ever printed. The suite
// passes over TLS: see TestConformanceACL.
func TestTLSAndAuth(t *testing.T) {
	testmode.Long(t)
	s := redistest.StartTLS(t, time.Now().Add(time.Hour), "--requirepass", "admin-xyzzy")
	redistest.SetUser(t, s.Client(t, func(o *redis.Options) { o.Password = "admin-xyzzy" }), documentedRules(t))
	var said child.Output
	redis.SetLogger(clientLog{&said})
	logger := redislock.WithLogger(slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})))

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
