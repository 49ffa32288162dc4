// Package admin operates locks: it shows which process has which key, takes a key away, and
// checks whether the store answers. The command distlock does the same from a shell.
//
// The error of each function is a [*distlock.Error] that wraps [errors.ErrUnsupported] if the
// backend does not have the ability, [distlock.ErrClosed], or [distlock.ErrUnavailable]. If ctx
// has ended, it wraps the error of ctx and its cause, and ErrUnavailable if the store was asked.
package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/bridge"
)

var (
	whileOpen = bridge.Operate.(func(context.Context, *distlock.Locker, func(driver.Backend) error) error)
	owner     = bridge.Owner.(func(*distlock.Lease) string)
	granted   = bridge.Handle.(func(string) (driver.Grant, error))
	kept      = bridge.Kept.(func(*distlock.Locker, string) map[string]time.Time)
	taken     = bridge.Taken.(func(*distlock.Locker, string) func())
)

// Inspect lists the keys with the prefix that are held or waited for, at most limit of
// them. Full keys are compared with the prefix; "" matches all. The result may be outdated: it
// is for people. A program should use it only to show or call the leader.
//
// It adds what the store does not know: see [driver.KeyInfo].KeptSince.
//
// It may take long in a store with many keys. With an error it returns what was found
// before. The keys are in order. The backend must be a [driver.Inspector].
func Inspect(ctx context.Context, locker *distlock.Locker, prefix string, limit int) ([]driver.KeyInfo, error) {
	if limit < 1 {
		return nil, &distlock.Error{Op: "inspect", Key: prefix, Err: fmt.Errorf("limit is %d", limit)}
	}
	var found []driver.KeyInfo
	err := operate(ctx, locker, "inspect", prefix, func(i driver.Inspector) (err error) {
		found, err = i.Inspect(ctx, prefix, limit)
		return err
	})
	if err != nil {
		return found, err
	}
	here := kept(locker, prefix)
	for i := range found {
		found[i].KeptSince = here[found[i].Key]
		delete(here, found[i].Key)
	}
	for _, key := range slices.Sorted(maps.Keys(here)) {
		if len(found) < limit {
			found = append(found, driver.KeyInfo{Key: key, KeptSince: here[key]})
		}
	}
	slices.SortFunc(found, func(a, b driver.KeyInfo) int { return strings.Compare(a.Key, b.Key) })
	return found, nil
}

// ForceRelease takes a full key away from its holders and passes it on to the waiters.
// It returns whether the key was held. It is for a holder that is stuck, and breaks a
// guarantee: another may hold the key before that holder learns of it. A holder of this
// Locker is told at once, one in another process by its next renewal, up to a third of its
// KeyTimeout later. A resource that checks [distlock.Lease.Token] is safe, because later
// tokens are larger. Any remaining MinHold time is discarded.
//
// In the process of the holder, callers still wait until its function has returned: see
// [distlock.Opts].MaxHold.
//
// A value that is not a lock of this package stays: the error wraps [distlock.ErrForeign].
// After ErrUnavailable the outcome is unknown. The backend must be a [driver.Inspector].
func ForceRelease(ctx context.Context, locker *distlock.Locker, key string) (held bool, err error) {
	tell := taken(locker, key) // a later holder has not lost it
	held, err = change(ctx, locker, "force", key, driver.Inspector.ForceRelease)
	if held && err == nil {
		tell()
	}
	return held, err
}

// Revoke asks the holders of a full key to give it back, and returns whether the key is
// held. Nothing is taken away: a holder that does not listen to [distlock.Lease.Revoked]
// keeps the key. On ZooKeeper it also asks holders that use Curator's makeRevocable.
//
// Some stores may lose the message: repeat it, or use [ForceRelease]. The backend must be a
// [driver.Revoker].
func Revoke(ctx context.Context, locker *distlock.Locker, key string) (held bool, err error) {
	return change(ctx, locker, "revoke", key, driver.Revoker.Revoke)
}

// Renew extends the lease of a handle of [distlock.Lease.HandOff], which stays good, by its
// KeyTimeout from now. It returns the key. The keeper of a handle calls it each third of
// KeyTimeout. The error wraps [distlock.ErrLost] if the lease has ended or was adopted. After
// ErrUnavailable the outcome is unknown.
func Renew(ctx context.Context, locker *distlock.Locker, handle string) (key string, err error) {
	g, err := granted(handle)
	if err != nil {
		return g.Key, &distlock.Error{Op: "options", Key: g.Key, Err: err}
	}
	return g.Key, operate(ctx, locker, "renew", g.Key, func(b driver.Backend) error {
		return driver.RenewAll(ctx, b, []driver.Grant{g})[0]
	})
}

// Ping checks whether the store answers, within the time of one operation. If not, the
// error contains the address and the cause. The backend must be a [driver.Pinger].
func Ping(ctx context.Context, locker *distlock.Locker) error {
	return operate(ctx, locker, "ping", "", func(p driver.Pinger) error { return p.Ping(ctx) })
}

// Fingerprint identifies the owner of a lease in the store, as [Inspect] shows it. Leases
// that are handed over or shared in a process have the same.
func Fingerprint(lease *distlock.Lease) string { return driver.Fingerprint(owner(lease)) }

// change calls a method of an ability of the backend that is about the holders of a key.
func change[Ability any](
	ctx context.Context, locker *distlock.Locker, op, key string, method func(Ability, context.Context, string) (bool, error),
) (held bool, err error) {
	if err := bridge.CheckKey(key); err != nil {
		return false, err
	}
	err = operate(ctx, locker, op, key, func(a Ability) (err error) {
		held, err = method(a, ctx, key)
		return err
	})
	return held, err
}

// operate calls f with an ability of the backend, and returns its error as a caller gets it.
func operate[Ability any](ctx context.Context, locker *distlock.Locker, op, key string, f func(Ability) error) error {
	err := whileOpen(ctx, locker, func(b driver.Backend) error {
		able, ok := b.(Ability)
		if !ok {
			return fmt.Errorf("the backend %T is not a %v: %w", b, reflect.TypeFor[Ability](), errors.ErrUnsupported)
		}
		err := f(able)
		if err == nil || errors.Is(err, distlock.ErrForeign) || errors.Is(err, distlock.ErrLost) {
			return err
		}
		return bridge.Unanswered(ctx, err)
	})
	if err == nil {
		return nil
	}
	return &distlock.Error{Op: op, Key: key, Err: err}
}
