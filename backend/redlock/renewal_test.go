package redlock_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// onScript is called before each call of a script, with its hash and its number of
// keys.
type onScript func(hash string, keys int)

func (onScript) DialHook(next redis.DialHook) redis.DialHook { return next }

func (onScript) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (on onScript) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) > 2 {
			if keys, err := strconv.Atoi(fmt.Sprint(args[2])); err == nil {
				on(fmt.Sprint(args[1]), keys)
			}
		}
		return next(ctx, cmd)
	}
}

// slow makes clients slow for renewals of at most so many locks.
func slow(clients []redis.UniversalClient, delay time.Duration, most int) {
	for _, c := range clients {
		c.(*redis.Client).AddHook(onScript(func(hash string, keys int) {
			if hash == redlock.RenewHash && keys <= most {
				time.Sleep(delay)
			}
		}))
	}
}

// plainly hides the type of the clients. The Backend then uses them and nothing else:
// copies and other connections would not have the hooks.
func plainly(clients []redis.UniversalClient) []redis.UniversalClient {
	hidden := make([]redis.UniversalClient, len(clients))
	for i, c := range clients {
		hidden[i] = plain{c}
	}
	return hidden
}

// When the context ends, what is decided has its result, and the rest is Unknown.
func TestVirtualRenewReportsWhatIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		clients := f.clients()
		slow(clients, time.Second, 255)
		b := newBackend(t, plainly(clients), redlock.Config{NodeTimeout: 3 * time.Second})
		grants := make([]driver.Grant, 257)
		for i := range grants {
			r := request()
			r.Key = strconv.Itoa(i)
			grants[i] = testkit.MustTry(t, b, r)
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		reports := 0
		b.Renew(ctx, grants, func(i int, r error) {
			if reports++; reports == 1 {
				synctest.Wait() // the first batch is decided, and the other is not
				cancel()
			}
			switch {
			case i < 256 && r != nil:
				t.Errorf("grant %d: %v", i, r)
			case i == 256 && !await.InDoubt(r):
				t.Errorf("grant %d was not decided: %v", i, r)
			}
		})
		if reports != len(grants) {
			t.Errorf("%d reports for %d grants", reports, len(grants))
		}
		time.Sleep(time.Second) // the late reports are not passed on
		if reports != len(grants) {
			t.Errorf("%d reports for %d grants, a second after Renew", reports, len(grants))
		}
	})
}

// A lock is restored on a node without it while the answer of the quorum is new. Of an
// old answer nothing is known: meanwhile the lock may be lost, and another may have the
// key.
func TestVirtualOldAnswerRestoresNothing(t *testing.T) {
	for delay, want := range map[time.Duration]int{600 * time.Millisecond: 3, 900 * time.Millisecond: 2} {
		synctest.Test(t, func(t *testing.T) {
			f := virtualFleet(t, 3)
			clients := f.clients()
			b := newBackend(t, plainly(clients), redlock.Config{NodeTimeout: 3 * time.Second})
			grants := make([]driver.Grant, 2*256+1) // three batches
			for i := range grants {
				r := shorter(request(), 4*time.Second)
				r.Key = strconv.Itoa(i)
				grants[i] = testkit.MustTry(t, b, r)
			}
			synctest.Wait()
			slow(clients[2:], delay, 256)
			f.del(t, "0", 0)
			if r := driver.RenewAll(t.Context(), b, grants)[0]; r != nil {
				t.Fatal(r)
			}
			time.Sleep(3*time.Second - delay) // until the last batch is answered
			if n := f.have("0", grants[0].Owner); n != want {
				t.Errorf("batches of %v: it is on %d nodes, want %d", delay, n, want)
			}
		})
	}
}
