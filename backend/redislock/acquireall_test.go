package redislock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/redistest"
	"github.com/distlock-go/distlock/internal/spoilnet"
	"github.com/distlock-go/distlock/internal/testkit"
	"github.com/distlock-go/distlock/internal/testmode"
)

// requestAll returns requests for three keys; lockKey is neither first nor last.
func requestAll() []driver.Request {
	return []driver.Request{request("a"), request(lockKey), request("z")}
}

// untouched checks that f fails and changes nothing.
func (s server) untouched(t *testing.T, f func() error) (err error) {
	t.Helper()
	before := s.dump(t)
	if err = f(); err == nil {
		t.Error("all were granted")
	}
	if after := s.dump(t); after != before {
		t.Errorf("it changed\n%sto\n%s", before, after)
	}
	return err
}

func TestAcquireAllOrNothing(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, s server, b *redislock.Backend)
		want    error // nil: any error
	}{
		"held": {func(t *testing.T, _ server, b *redislock.Backend) {
			t.Helper()
			_, err := b.TryAcquire(t.Context(), request(lockKey))
			noError(t, err)
		}, driver.ErrNotAcquired},
		"shared": {func(t *testing.T, _ server, b *redislock.Backend) {
			t.Helper()
			_, err := b.TryAcquire(t.Context(), reader(lockKey))
			noError(t, err)
		}, driver.ErrNotAcquired},
		"free, but waited for": {func(t *testing.T, s server, _ *redislock.Backend) {
			t.Helper()
			noError(t, s.ZAdd(t.Context(), queueKey, redis.Z{Score: 1, Member: "elsewhere:o"}).Err())
		}, driver.ErrNotAcquired},
		"another's": {func(t *testing.T, s server, _ *redislock.Backend) {
			t.Helper()
			noError(t, s.RPush(t.Context(), lockKey, "x").Err())
		}, driver.ErrNotAcquired},
		"no token": {func(t *testing.T, s server, _ *redislock.Backend) {
			t.Helper()
			noError(t, s.Set(t.Context(), clockKey, "x", 0).Err())
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			eachServer(t, func(t *testing.T, s server) {
				b := newBackend(t, s.Client)
				c.prepare(t, s, b)
				err := s.untouched(t, func() error {
					_, err := b.TryAcquireAll(t.Context(), requestAll())
					return err
				})
				if errors.Is(err, driver.ErrNotAcquired) != (c.want != nil) {
					t.Errorf("the error is %v, want %v", err, c.want)
				}
				if n := b.InDoubt(); n != 0 {
					t.Errorf("%d owners in doubt", n)
				}
			})
		})
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A late attempt does not get anything if one of its owners has a tombstone.
func TestAcquireAllOvertaken(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		rs := requestAll()
		noError(t, s.ZAdd(t.Context(), goneKey, redis.Z{Score: 1, Member: rs[1].Owner}).Err())
		_ = s.untouched(t, func() error {
			_, err := b.TryAcquireAll(t.Context(), rs)
			return err
		})
	})
}

// An attempt whose reply was lost may arrive late: the releases of its owners report
// that.
func TestAcquireAllInDoubt(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	n := spoilnet.TCP(s.real.Addr())
	c := s.real.Client(t, func(o *redis.Options) { o.Dialer, o.MaxRetries = n.DialContext, -1 })
	b := newBackend(t, c, redislock.WithOpTimeout(2*time.Second))
	rs := requestAll()
	grants, err := b.TryAcquireAll(t.Context(), rs) // the server knows the script
	noError(t, err)
	for _, g := range grants {
		mustRelease(t, b, g)
	}
	rs = requestAll()
	n.HoldAt(scriptCall)
	if _, err := b.TryAcquireAll(t.Context(), rs); err == nil || errors.Is(err, driver.ErrNotAcquired) {
		t.Fatalf("without an answer: %v", err)
	}
	if got := b.InDoubt(); got != len(rs) {
		t.Errorf("%d doubts, want one for each owner", got)
	}
	for _, r := range rs {
		mustRelease(t, b, r.Grant())
	}
	scripts := func() string {
		_, rest, _ := strings.Cut(s.Info(t.Context(), "commandstats").Val(), "cmdstat_evalsha:calls=")
		calls, _, _ := strings.Cut(rest, ",")
		return calls
	}
	before := scripts()
	noError(t, n.Deliver())
	testkit.Eventually(t, "it has come", func() bool { return scripts() != before })
	for _, r := range rs {
		if holder := s.Get(t.Context(), r.Key).Val(); holder != "" {
			t.Errorf("%q was taken for nobody", r.Key)
		}
	}
}

func TestAcquireAllApart(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	apart := func(t *testing.T, b *redislock.Backend, rs []driver.Request) {
		t.Helper()
		if _, err := b.TryAcquireAll(t.Context(), rs); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("the error is %v", err)
		}
	}
	t.Run("cluster", func(t *testing.T) {
		servers := redistest.StartCluster(t, 2)
		apart(t, newBackend(t, redistest.ClusterClient(t, servers)), requestAll())
		var many []driver.Request
		for i := range 10 {
			many = append(many, request(fmt.Sprint(i)))
		}
		apart(t, newBackend(t, servers[0].Client(t)), many) // a client that does not know the script
	})
	s := realServer(t)
	t.Run("replicas", func(t *testing.T) {
		apart(t, newBackend(t, s.Client, redislock.WithWaitReplicas(1, 20*time.Millisecond)), requestAll())
	})
	t.Run("shared", func(t *testing.T) {
		apart(t, newBackend(t, s.Client), []driver.Request{request("a"), reader("b")})
	})
}
