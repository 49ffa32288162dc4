package redistest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/auth"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Open makes a Backend on servers of the bubble that calls it. change changes the
// options of its clients. An operation of the Backend has a second.
type Open func(t *testing.T, change func(*redis.Options)) driver.Backend

const (
	callers = 40
	limit   = time.Second // of an operation
	margin  = 50 * time.Millisecond
)

// behind puts a network in front of the server of a client.
func behind(o *redis.Options) *spoilnet.Network {
	dial := o.Dialer
	n := spoilnet.To(func() (net.Conn, error) { return dial(context.Background(), "", "") })
	o.Dialer = n.DialContext
	return n
}

// streaming are credentials whose source blocks.
type streaming struct{ before func() }

func (s streaming) Subscribe(auth.CredentialsListener) (auth.Credentials, auth.UnsubscribeFunc, error) {
	s.before()
	return auth.NewBasicCredentials("", ""), func() error { return nil }, nil
}

// Stuck blocks each function that a user gives to a client, when all connections have
// ended. Each operation of forty callers must return within 50 ms after its context
// ends, and after the operation timeout in any case. Four renewals have ten grants
// each: a Locker makes no more.
func Stuck(t *testing.T, open Open) {
	t.Helper()
	for name, give := range map[string]func(o *redis.Options, before func()){
		"Dialer": func(o *redis.Options, f func()) {
			dial := o.Dialer
			o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				f()
				return dial(ctx, network, addr)
			}
		},
		"OnConnect": func(o *redis.Options, f func()) {
			o.OnConnect = func(context.Context, *redis.Conn) error { f(); return nil }
		},
		"CredentialsProvider": func(o *redis.Options, f func()) {
			o.CredentialsProvider = func() (string, string) { f(); return "", "" }
		},
		"CredentialsProviderContext": func(o *redis.Options, f func()) {
			o.CredentialsProviderContext = func(context.Context) (string, string, error) { f(); return "", "", nil }
		},
		"StreamingCredentialsProvider": func(o *redis.Options, f func()) { o.StreamingCredentialsProvider = streaming{f} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stuck atomic.Bool
				over := make(chan struct{})
				before := func() {
					if stuck.Load() {
						<-over
					}
				}
				var all []*spoilnet.Network
				b := open(t, func(o *redis.Options) {
					all = append(all, behind(o))
					give(o, before)
				})
				operations := inUse(t, b)
				stuck.Store(true)
				for _, n := range all {
					n.Kill()
				}
				for _, patience := range []time.Duration{limit / 5, time.Hour} {
					for what, run := range operations {
						atOnce(t, what, patience, run)
					}
				}
				close(over)
				time.Sleep(30 * limit) // what was abandoned ends
			})
		})
	}
}

// inUse uses the Backend, so that it has connections, and returns its operations. Each
// caller has locks of its own.
func inUse(t *testing.T, b driver.Backend) map[string]func(context.Context, int) error {
	t.Helper()
	var held, leaving [callers]driver.Grant
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			var errs [4]error
			held[i], errs[0] = b.TryAcquire(t.Context(), testkit.NewRequest("held"+strconv.Itoa(i)))
			leaving[i], errs[1] = b.TryAcquire(t.Context(), testkit.NewRequest("leaving"+strconv.Itoa(i)))
			errs[2] = driver.RenewAll(t.Context(), b, held[i:i+1])[0]
			errs[3] = b.Release(t.Context(), leaving[i])
			if err := errors.Join(errs[:]...); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	operations := map[string]func(ctx context.Context, i int) error{
		"TryAcquire": func(ctx context.Context, i int) error {
			_, err := b.TryAcquire(ctx, testkit.NewRequest("try"+strconv.Itoa(i)))
			return err
		},
		"Renew": func(ctx context.Context, i int) error {
			if i%10 == 0 {
				return driver.RenewAll(ctx, b, held[i:i+10])[9]
			}
			return errNoOperation
		},
		"Release": func(ctx context.Context, i int) error { return b.Release(ctx, held[i]) },
	}
	if q, ok := b.(driver.Queuer); ok {
		operations["Enqueue"] = func(ctx context.Context, i int) error {
			_, err := q.Enqueue(ctx, testkit.NewRequest("new"+strconv.Itoa(i)))
			return err
		}
	}
	return operations
}

var errNoOperation = errors.New("this caller does nothing")

// atOnce runs an operation forty times. None may succeed, or return late.
func atOnce(t *testing.T, what string, patience time.Duration, run func(context.Context, int) error) {
	t.Helper()
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			start := time.Now()
			err := run(ctx, i)
			if d := time.Since(start); err == nil || d > min(patience, limit)+margin {
				t.Errorf("%s with a context of %v: %v after %v", what, patience, err, d)
			}
		})
	}
	all.Wait()
}

// Asked checks that the first use asks whether the server may evict locks.
func Asked(t *testing.T, open Open) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Bool
		inUse(t, open(t, func(o *redis.Options) {
			behind(o).At(spoilnet.Hold, func(written []byte) bool {
				if bytes.Contains(written, []byte("\r\ninfo\r\n")) {
					asked.Store(true)
				}
				return false
			})
		}))
		time.Sleep(limit)
		if !asked.Load() {
			t.Error("nobody has asked for the policy of eviction")
		}
	})
}

// Forgotten lets all connections become silent, as a NAT gateway does that has
// forgotten them, or a machine that is switched off. After a quiet time the first
// attempt must succeed within the operation timeout. In any case a lease of three
// seconds must outlive it, if it is renewed every second.
func Forgotten(t *testing.T, open Open) {
	t.Helper()
	for name, quiet := range map[string]time.Duration{"after a quiet time": 4 * limit, "at once": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var all []*spoilnet.Network
				b := open(t, func(o *redis.Options) { all = append(all, behind(o)) })
				operations := inUse(t, b)
				r := testkit.NewRequest("lease")
				r.TTL = 3*limit + quiet
				g, err := b.TryAcquire(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(quiet)
				for _, n := range all {
					n.Cut()
				}
				start := time.Now()
				if quiet > 0 {
					err := operations["TryAcquire"](t.Context(), 0)
					if d := time.Since(start); err != nil || d >= limit {
						t.Errorf("the first attempt: %v after %v", err, d)
					}
				}
				var renewals sync.WaitGroup
				var renewed atomic.Int32
				for range 2 {
					time.Sleep(limit - time.Since(start)%limit)
					renewals.Go(func() {
						if driver.RenewAll(t.Context(), b, []driver.Grant{g})[0] == nil {
							renewed.Add(1)
						}
					})
				}
				renewals.Wait()
				if d := time.Since(start); renewed.Load() == 0 || d > 3*limit {
					t.Errorf("%d of 2 renewals after %v", renewed.Load(), d)
				}
			})
		})
	}
}
