package backendurl_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// use acquires and releases a lock, and checks that the optional abilities are not
// hidden.
func use(t *testing.T, rawURL string) {
	t.Helper()
	b, err := backendurl.Open(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := b.Backend.(driver.Queuer); !ok {
		t.Errorf("the Backend of %s is not a Queuer", rawURL)
	}
	l := distlock.New(b.Backend, distlock.Config{})
	if err := l.Do(t.Context(), "k", distlock.Opts{}, func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// mustFind checks how many locks a Backend finds while a lock of rawURL is held.
func mustFind(t *testing.T, rawURL string, other driver.Inspector, want int) {
	t.Helper()
	_, l := connect(t, rawURL)
	err := l.Do(t.Context(), "tea", distlock.Opts{}, func(ctx context.Context) error {
		found, err := other.Inspect(ctx, "tea", 10)
		if len(found) != want {
			t.Errorf("%s: found %+v, want %d", rawURL, found, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func listen(t *testing.T) string {
	t.Helper()
	s := miniredis.RunT(t)
	s.ClockTTL(true)
	return s.Addr()
}

func TestRedis(t *testing.T) {
	addr := listen(t)
	for _, rawURL := range []string{
		"redis://" + addr,
		"redis://" + addr + "/3",
		"redis://" + addr + "/0?pool_size=2&dial_timeout=1s",
	} {
		use(t, rawURL)
	}
	apart := miniredis.RunT(t)
	use(t, "redis://"+apart.Addr()+"/0?clock=shop:clock")
	if !apart.Exists("shop:clock") || apart.Exists("distlock:clock") {
		t.Errorf("with a clock of its own it left %q", apart.Keys())
	}
	locked := miniredis.RunT(t)
	locked.RequireAuth("pw")
	use(t, "redis://:pw@"+locked.Addr()+"/0")
	refused(t, "redis://:secret@"+locked.Addr()+"/0", "WRONGPASS")
	b, err := backendurl.Open(t.Context(), "redis://"+addr+"/0?record=redisson&pool_size=2")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got := fmt.Sprintf("%T", b.Backend); got != "*redissonlock.backend" {
		t.Errorf("record=redisson opens a %T", b.Backend)
	}
	got := b.Client.(*redis.Client).Options()
	if got.PoolSize != 2 || got.ConnMaxIdleTime != 3*time.Minute || !got.ContextTimeoutEnabled {
		t.Errorf("a pool of %d, idle for %v, ends with the context: %v", got.PoolSize, got.ConnMaxIdleTime, got.ContextTimeoutEnabled)
	}
}

// withTLS returns the address of a proxy that adds TLS to a server.
func withTLS(t *testing.T, inner string, protocols ...string) string {
	t.Helper()
	withCert := httptest.NewTLSServer(nil)
	t.Cleanup(withCert.Close)
	config := withCert.TLS.Clone()
	config.NextProtos = protocols
	outer, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	var pipes sync.WaitGroup
	pipes.Go(func() {
		for {
			in, err := outer.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", inner)
			if err != nil {
				t.Error(err)
				_ = in.Close()
				return
			}
			pipes.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
			pipes.Go(func() { _, _ = io.Copy(in, out); _ = in.Close() })
		}
	})
	t.Cleanup(func() { _ = outer.Close(); pipes.Wait() })
	return outer.Addr().String()
}

func TestRediss(t *testing.T) {
	t.Parallel() // the client takes a while to give up
	addr := withTLS(t, listen(t))
	use(t, "rediss://"+addr+"/0?skip_verify=true")
	refused(t, "rediss://user:secret@"+addr+"/0", "certificate")
}

func TestBadURL(t *testing.T) {
	for _, c := range []struct{ rawURL, want string }{
		{"", "want one of redis://"},
		{"memcached://h:1", "want one of redis://"},
		{"secret@evil://127.0.0.1:6379", "want one of redis://"},
		{"redis://h:port/0", "invalid port"},
		{"redis://h:0/0", "invalid port"},
		{"redis://h:65536/0", "invalid port"},
		{"redis://]/0", "invalid host"},
		{"redis://h:1/0/1", "/0/1"},
		{"redis://h:1/a%0Ab/c", "/a\ufffdb/c"},
		{"redis://h:1/-1", "-1"},
		{"redis://h:1/0?colour=red", "colour"},
		{"redis://h:1/0?pool_size=many", "pool_size"},
		{"redis://h:1/0?record=other", "record"},
		{"redis://h:1/0?record=redisson&record=redisson", "record"},
		{"redis://h:1/0?clock={a}", "clock"},
		{"redis://h:1/0?record=redisson&colour=red", "colour"},
		{"redis://h\n:1", "character"},
		{"redis://:secret/x@h:1/0", "percent-encoded"},
		{"redis://:1/secret@h:1/0", "percent-encoded"},
		{"redis://secret@h:1/0?x=1", "x"},
		{"redis://h:1/0?x=1&Password=secret", "Password"},
		{"zk://", "a host is missing"},
		{"postgres://[::1/db", "missing ']'"},
		{"mysql://:secret@h:1/db", "want user:password"},
		{"etcd://user:@h:1", "want user:password"},
		{"zk://h:1:2", "too many colons"},
		{"zk://h:1/a%zz", "invalid URL escape"},
		{"zk://h:1//a", `"//a`},
		{"zk://h:1/a/../b", `".."`},
		{"zk://h:1/a%00", `'\x00'`},
		{"zk://h:1/a?colour=red", "colour"},
		{"zk://h:1/a?session_timeout=5%0As", "session_timeout"},
		{"zk://h:1/a?session_timeout=1ms", "1ms is not between"},
		{"zk://:secret@h:1", "want user:password"},
		{"zk://us%3Aer:secret@h:1", "the user has a colon"},
		{"zk://user:sec ret@h:1", "percent-encoded"},
		{"postgres:///db?host=/run/postgresql", "a host is missing"},
		{"postgres://h:1/db/x", "has a slash"},
		{"postgres://h:1/db%00", "zero byte"},
		{"postgres://h:1/db?colour=red", `unexpected parameter "colour"`},
		{"postgres://user@h:1/db?password=secret", `unexpected parameter "password"`},
		{"postgres://h:1/db?sslmode=secure", "sslmode"},
		{"postgres://h:1/db?sslmode=a%60b: x%00", "x"},
		{"postgres://h:1/db?sslmode=verify-full&sslrootcert=/nowhere", "/nowhere"},
		{"postgres://h:1/db?target_session_attrs=best", "target_session_attrs"},
		{"postgres://h:1/db?connect_timeout=soon", "connect_timeout"},
		{"postgres://h:1/db?default_query_exec_mode=fast", "default_query_exec_mode"},
		{"postgres://secret%00:x@h:1/db", "zero byte"},
		{"mysql://user:secret@tcp(h:1)/db", "invalid port"},
		{"mysql://h:1", "the database is missing"},
		{"mysql://h:1,i:1/db", "want one host"},
		{"mysql://h:1/db?parseTime=true", `unexpected parameter "parseTime": want none but tls`},
		{"mysql://h:1/db?tls=yes", `tls is "yes": want true or skip-verify`},
		{"mysql://secret%00:x@h:1/db", "zero byte"},
		{"postgres://host=h password=secret", "invalid character"},
		{"postgres://h:1/db password=secret sslmode=x/", "has a slash"},
		{"postgres://h:1/db?sslpassword=secret", "sslpassword"},
		{"redis://user:secret", "invalid port"}, // the host was forgotten
		{"zk://user:secret:h:1", "too many colons"},
		{"secret://h:1", "want one of redis://"},
		{"sqlite:x.db?_key=secret", "no parameters"},
		{"sqlite:", "want the path of a file"},
		{"sqlite://x.db", "without // or file:"},
		{"sqlite:file:x.db", "without // or file:"},
		{"sqlite::memory:", "want the path of a file"},
		{"sqlite:x\x00", "zero byte"},
		{"sqlite:/var/lib/", "want the path of a file"},
		{"etcd://http://h:1", "two slashes"},
		{"nats://h:1/a.b", "more than letters"},
		{"kube://user:secret@h:1/shop", "want no user"},
		{"kube://h:1/shop?colour=secret", `unexpected parameter "colour"`},
		{"dynamodb://user:secret@eu-west-1/t", "want no user"},
		{"s3://eu-west-1", "bucket is missing"},
		{"etcd://h:1/a?colour=red", `unexpected parameter "colour"`},
	} {
		b, err := backendurl.Open(t.Context(), c.rawURL)
		if b != nil || !errors.Is(err, backendurl.ErrURL) {
			t.Errorf("%q: %v, %v", c.rawURL, b, err)
			continue
		}
		msg := err.Error()
		if !strings.Contains(msg, c.want) {
			t.Errorf("%q: %q does not say %q", c.rawURL, msg, c.want)
		}
		if strings.Contains(msg, "secret") || strings.Contains(msg, "\n") {
			t.Errorf("%q: %q is not fit to be seen", c.rawURL, msg)
		}
	}
}

func TestUnreachable(t *testing.T) {
	testmode.Long(t)
	t.Parallel() // most of its time is waiting
	dead, mute := child.ClosedAddr(t), child.SilentAddr(t)
	for _, c := range []struct{ name, scheme, addr, want string }{
		{"Redis refuses", "redis", dead, "refused"},
		{"Redis is silent", "redis", mute, "no answer within the operation timeout of 3s: it takes connections, but answers nothing"},
		{"ZooKeeper refuses", "zk", dead, "refused"},
		{"ZooKeeper is silent", "zk", mute, "no answer within"},
		{"PostgreSQL refuses", "postgres", dead, "refused"},
		{"PostgreSQL is silent", "postgres", mute, "no answer"},
		{"MySQL refuses", "mysql", dead, "refused"},
		{"MySQL is silent", "mysql", mute, "no answer"},
		{"etcd refuses", "etcd", dead, "no answer of " + dead},
		{"etcd is silent", "etcd", mute, "no answer of " + mute},
		{"NATS refuses", "nats", dead, "no answer of " + dead + " within 3s: dial tcp " + dead + ": connect: connection refused"},
		{"NATS is silent", "nats", mute, "no answer of " + mute},
		{"both", "zk", mute + "," + dead, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			b, err := backendurl.Open(t.Context(), c.scheme+"://user:secret@"+c.addr+"/0")
			if b != nil || err == nil || errors.Is(err, backendurl.ErrURL) {
				t.Fatal(b, err)
			}
			msg := err.Error()
			if !strings.Contains(msg, c.want) || !strings.Contains(msg, `"`+c.scheme+`://xxxxx@`+c.addr+`/0"`) {
				t.Errorf("%q says too little", msg)
			}
			if strings.Contains(msg, "secret") || strings.Contains(msg, "\n") {
				t.Errorf("%q is not fit to be seen", msg)
			}
			if d := time.Since(start); d > 15*time.Second { // five times the limit, for slow machines
				t.Errorf("took %v", d)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	mute := child.SilentAddr(t)
	for _, scheme := range []string{"redis://", "zk://", "etcd://", "etcd://user:pw@", "nats://", "postgres://user:pw@", "mysql://user:pw@"} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		if _, err := backendurl.Open(ctx, scheme+mute+"/0"); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

func TestName(t *testing.T) {
	for rawURL, want := range map[string]string{
		"redis://h:1/0":                            "redis://h:1/0",
		"rediss://user:secret@h:1/0?x=secret":      "rediss://h:1/0",
		"zk://user:secret@h:1,i:2/a?x=secret":      "zk://h:1,i:2/a",
		"zk://h:1,i:2":                             "zk://h:1,i:2",
		"postgres://user:secret@h:1/db?x=secret":   "postgres://h:1/db",
		"sqlite:/var/lib/a@b/x.db":                 "sqlite:/var/lib/a@b/x.db",
		"sqlite://user:secret@h/x.db":              "sqlite:…",
		"redis://user:secret":                      "redis://…",
		"host=h password=secret":                   "…",
		"redis://user:sec@ret/with?every#thing@h/": "redis://…",
	} {
		if got := backendurl.Name(rawURL); got != want {
			t.Errorf("%q: %q, want %q", rawURL, got, want)
		}
	}
}

// A secret of four bytes or more is hidden, the longest first. A shorter one may be any word.
func TestShortSecrets(t *testing.T) {
	const text = "AUTH abcdef abcd abc"
	for rawURL, want := range map[string]string{
		"redis://u:abc@h/0":               text,
		"redis://u:abcd@h/0":              "AUTH xxxxxef xxxxx abc",
		"redis://u:abcd@h/0?token=abcdef": "AUTH xxxxx xxxxx abc",
	} {
		if got := backendurl.Hide(text, rawURL); got != want {
			t.Errorf("%q: %q, want %q", rawURL, got, want)
		}
	}
}
