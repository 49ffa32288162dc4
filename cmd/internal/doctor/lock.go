package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/text"
)

// trial tries locks in a store.
type trial struct {
	locker *distlock.Locker
	store  *backendurl.Backend
	url    string
	key    string
	failed bool          // the store cannot keep locks, so there is nothing to measure
	lease  time.Duration // that the store has granted
}

var lockChecks = []check[*trial]{
	{"ping", server, "What a lock does has to work in each session, with the rights of this user (P1, P5).", tryPing},
	{"lock", timing, "A lease is renewed at a third of its time. A store that is slow for longer than that costs leases (P2).", tryLock},
	{"lease", server, "A store may cut the lease, which then has to be renewed more often (P2).", tryLease},
	{"wake-up", timing, "A release wakes a waiter by a message. The lock is free for that long (P5).", tryWakeUp},
}

// tryPing does what each program does before its first lock.
func tryPing(ctx context.Context, t *trial) (verdict, error) {
	err := admin.Ping(ctx, t.locker)
	if t.failed = err != nil; t.failed {
		return fault(text.OneLine(err), remedy(err)), nil
	}
	return ok("it does what a lock needs"), nil
}

// remedy says what to do about an error of a lock.
func remedy(err error) string {
	switch {
	case errors.Is(err, sqllock.ErrNoTable):
		return "sqllock.CreateTable, or what sqllock.Schema returns; distlock ls -backend URL creates them, too"
	case strings.Contains(err.Error(), "NOPERM"):
		return "give the user the ACL rules in the documentation of redislock, and name the prefix of the keys: distlock doctor -prefix TEXT"
	default:
		return "what the error says"
	}
}

// The options of a lock of the doctor.
var (
	once    = distlock.Opts{RetryCount: 1}
	waiting = distlock.Opts{MaxWait: 5 * time.Second}
)

// opTimeout is the default operation timeout of the Redis backends, the shortest of all.
const opTimeout = time.Second

// tryLock measures how long it takes to acquire and release a key.
func tryLock(ctx context.Context, t *trial) (verdict, error) {
	if t.failed {
		return verdict{}, nil
	}
	median, slowest, err := measure(ctx, 20, func(ctx context.Context) (time.Duration, error) {
		start := time.Now()
		lease, err := t.locker.Acquire(ctx, t.key, once)
		if err == nil {
			t.lease = lease.Until().Sub(start)
			err = lease.Release(ctx)
		}
		return time.Since(start), err
	})
	if t.failed = err != nil; t.failed {
		return fault(text.OneLine(err), remedy(err)), nil
	}
	const do = "move the program and the store closer together, or find out what slows the store down"
	seen := fmt.Sprintf("median %v, slowest %v to acquire and release, of an operation timeout of %v", short(median), short(slowest), opTimeout)
	switch {
	case slowest >= opTimeout:
		return fault(seen, do), nil
	case slowest >= opTimeout/5:
		return warning(seen, do), nil
	default:
		return ok("%s", seen), nil
	}
}

// tryLease compares the lease that a store grants with the default that was asked for.
func tryLease(_ context.Context, t *trial) (verdict, error) {
	switch {
	case t.failed:
		return verdict{}, nil
	case t.lease < distlock.DefaultKeyTimeout*9/10:
		return warning(fmt.Sprintf("%v, of the default of %v", short(t.lease), distlock.DefaultKeyTimeout),
			"maxSessionTimeout=20000 in zoo.cfg, or session_timeout=20s in the URL; or Opts.KeyTimeout with less"), nil
	default:
		return ok("%v", distlock.DefaultKeyTimeout), nil
	}
}

// settle is how long a waiter may take to be in the queue.
const settle = 50 * time.Millisecond

// tryWakeUp measures how long a waiter of another process takes to get a key that is released.
func tryWakeUp(ctx context.Context, t *trial) (verdict, error) {
	if t.failed || t.store.Dialect == sqllock.MySQL || t.store.Dialect == sqllock.SQLite { // waiters poll
		return verdict{}, nil
	}
	store, err := backendurl.Connect(ctx, t.url)
	if err != nil {
		return verdict{}, err
	}
	other := distlock.New(store.Backend, distlock.Config{HandOverTime: -1})
	defer func() { _, _ = other.Close(), store.Close() }() // nothing depends on it
	median, slowest, err := measure(ctx, 5, func(ctx context.Context) (time.Duration, error) {
		lease, err := t.locker.Acquire(ctx, t.key, once)
		if err != nil {
			return 0, err
		}
		got := make(chan error, 1)
		go func() {
			lease, err := other.Acquire(ctx, t.key, waiting)
			got <- err
			if err == nil {
				err = lease.Release(ctx)
			}
			got <- err
		}()
		clock.Sleep(ctx, settle)
		start := time.Now()
		err = errors.Join(lease.Release(ctx), <-got)
		took := time.Since(start)
		return took, errors.Join(err, <-got)
	})
	seen := fmt.Sprintf("median %v, slowest %v from a release to the next holder", short(median), short(slowest))
	switch {
	case err != nil:
		return warning(text.OneLine(err), remedy(err)), nil
	case median >= settle:
		return warning(seen, "find out what slows the messages down, or whether the user may not receive them"), nil
	default:
		return ok("%s", seen), nil
	}
}

// measureLimit is how long a measurement goes on, if n requests take longer.
const measureLimit = 2 * time.Second

// measure repeats a request up to n times.
func measure(ctx context.Context, n int, request func(context.Context) (time.Duration, error)) (median, slowest time.Duration, err error) {
	var all []time.Duration
	for begin := time.Now(); len(all) < n && (len(all) == 0 || time.Since(begin) < measureLimit); {
		d, err := request(ctx)
		if err != nil {
			return 0, 0, err
		}
		all = append(all, d)
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)-1], nil
}

// short rounds a duration for people.
func short(d time.Duration) string { return text.Duration(d.Round(time.Microsecond)) }
