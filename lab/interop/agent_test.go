package interop_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// agent takes locks of this kit, as the agent in Java does with Java's libraries.
type agent struct {
	redis     *redis.Client
	zooKeeper string
	lease     time.Duration

	mu      sync.Mutex
	lockers map[string]*distlock.Locker // by library and kind
	leases  map[string]*distlock.Lease  // by thread, library and key
}

// beAgent makes the calls that it reads, until there are no more.
func beAgent(c *testkit.Child) error {
	var args []string
	if err := c.Decode(&args); err != nil {
		return err
	}
	a := &agent{
		redis:     redis.NewClient(&redis.Options{Addr: args[0]}),
		zooKeeper: args[1],
		lease:     millis(args, 2),
		lockers:   make(map[string]*distlock.Locker),
		leases:    make(map[string]*distlock.Lease),
	}
	c.Say("ready")
	threads := make(map[string]chan []string)
	for line := c.Hear(); line != ""; line = c.Hear() {
		words := strings.Fields(line)
		calls, ok := threads[words[1]]
		if !ok {
			calls = make(chan []string, 100)
			threads[words[1]] = calls
			go func() {
				for words := range calls {
					result, err := a.call(words[1], words[2], words[3], words[4], words[5:])
					if err != nil {
						result = "!" + nameOf(err) + " " + err.Error()
					}
					c.Say(words[0], strings.Join(strings.Fields(result), " "))
				}
			}()
		}
		calls <- words
	}
	return nil
}

// nameOf returns a word for an error.
func nameOf(err error) string {
	if errors.Is(err, distlock.ErrForeign) {
		return "foreign"
	}
	return distlock.CodeOf(err).String()
}

func (a *agent) call(thread, kind, verb, key string, more []string) (string, error) {
	l, err := a.locker(kind)
	if err != nil {
		return "", err
	}
	name := thread + " " + kind + " " + key
	a.mu.Lock()
	held := a.leases[name]
	a.mu.Unlock()
	ctx := context.Background()
	switch verb {
	case "try":
		return a.acquire(l, name, key, 0, a.options(kind, more, 0))
	case "wait":
		return a.acquire(l, name, key, millis(more, 0), a.options(kind, more, 1))
	case "unlock":
		if held == nil {
			return "", errors.New("not held")
		}
		return "done", held.Release(ctx)
	case "count":
		n, err := strconv.Atoi(more[0])
		if err != nil {
			return "", err
		}
		return "done", a.count(l, key, n, more[1], a.options(kind, nil, 0))
	case "token":
		return strconv.FormatUint(held.Token(), 10), nil
	case "lost": // waits for the loss
		select {
		case <-held.Context().Done():
			return "", context.Cause(held.Context())
		case <-time.After(millis(more, 0)):
			return "held", held.Check()
		}
	case "revoked": // waits for the request
		select {
		case <-held.Revoked():
			return "true", nil
		case <-time.After(millis(more, 0)):
			return "false", nil
		}
	case "revoke":
		held, err := admin.Revoke(ctx, l, key)
		return strconv.FormatBool(held), err
	case "force":
		held, err := admin.ForceRelease(ctx, l, key)
		return strconv.FormatBool(held), err
	case "inspect":
		return a.inspect(l, key)
	}
	return "", errors.New(verb)
}

// options returns the options for a kind of lock. Behind the first words there may be a
// lease and an interval between attempts, in milliseconds.
func (a *agent) options(kind string, words []string, skip int) distlock.Opts {
	o := distlock.Opts{KeyTimeout: cmp.Or(millis(words, skip), a.lease), RetryInterval: millis(words, skip+1)}
	switch kind[strings.Index(kind, ".")+1:] {
	case "read", "shared":
		o.Mode = distlock.Shared
	case "permits":
		o.Permits = 1
	}
	return o
}

// millis returns a word as a duration; 0 if there is none.
func millis(words []string, i int) time.Duration {
	if i >= len(words) {
		return 0
	}
	n, _ := strconv.Atoi(words[i])
	return time.Duration(n) * time.Millisecond
}

func (a *agent) acquire(l *distlock.Locker, name, key string, wait time.Duration, o distlock.Opts) (string, error) {
	ctx := context.Background()
	take := l.TryAcquire
	if wait > 0 {
		o.MaxWait, take = wait, l.Acquire
	}
	lease, err := take(ctx, key, o)
	if errors.Is(err, distlock.ErrNotAcquired) && !errors.Is(err, distlock.ErrForeign) && !errors.Is(err, distlock.ErrUnavailable) {
		return "false", nil
	}
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leases[name] = lease
	return "true", nil
}

// count counts up n times: under the lock it reads the counter, adds one, and writes it.
func (a *agent) count(l *distlock.Locker, key string, n int, counter string, o distlock.Opts) error {
	for range n {
		err := l.Do(context.Background(), key, o, func(ctx context.Context) error {
			value, err := a.redis.Get(ctx, counter).Int()
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			return a.redis.Set(ctx, counter, value+1, 0).Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inspect returns what an operator sees of a key.
func (a *agent) inspect(l *distlock.Locker, key string) (string, error) {
	infos, err := admin.Inspect(context.Background(), l, key, 10)
	if err != nil {
		return "", err
	}
	for _, info := range infos {
		if info.Key == key {
			return fmt.Sprintf("held=%d waiting=%d foreign=%q", info.Held, info.Waiting, info.Foreign), nil
		}
	}
	return "nothing", nil
}
