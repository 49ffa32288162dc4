package distlock

import (
	"context"

	"github.com/distlock-go/distlock/driver"
)

// Revoke asks the holders of a full key to give it back, and returns whether the key is
// held. Nothing is taken away: a holder that does not listen to [Lease.Revoked] keeps the
// key. On ZooKeeper it also asks holders that use Curator's makeRevocable.
//
// Some stores may lose the message: repeat it, or use [Locker.ForceRelease]. The error wraps
// [errors.ErrUnsupported] if the backend is not a [driver.Revoker]. Other errors are those of
// [Locker.Inspect].
func (l *Locker) Revoke(ctx context.Context, key string) (held bool, err error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	err = operate(ctx, l, "revoke", key, func(r driver.Revoker) (err error) {
		held, err = r.Revoke(ctx, key)
		return err
	})
	return held, err
}

// Revoked returns a channel that is closed when the holder is asked to give the key back: by
// [Locker.Revoke] in any process, or by Curator's Revoker. The lock stays held until it is
// released, so a function can end at a good moment:
//
//	for _, order := range orders {
//		select {
//		case <-lease.Revoked():
//			return nil // the rest is for another run
//		default:
//		}
//		…
//	}
//
// The first call begins to watch, in the background; before it, a request may be missed. A
// re-entry has the channel of the lease that it re-enters. The channel is nil, so it is never
// ready, if the backend is not a [driver.Revoker].
func (s *Lease) Revoked() <-chan struct{} {
	if s.reentered != nil {
		return s.reentered.Revoked()
	}
	if s.locker.revoker == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revoked == nil {
		s.revoked = s.locker.revoker.Revoked(&s.ctx, s.state.Grant())
	}
	return s.revoked
}
