package distlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/internal/bridge"
	"github.com/distlock-go/distlock/internal/leasestate"
)

// HandOff ends the lease for this process and returns a handle, with which [Locker.Adopt] of
// another process goes on under the same [Lease.Token]. The lease must be extended first, so it
// needs an answer of the store. After an error the lease is as it was, or lost. When HandOff
// returns a handle, the lease's context is cancelled, and no renewal is sent any more. From
// then on nobody renews the lease: the handle ends with it, KeyTimeout later.
//
// The holder still calls Release when its work has ended, as Do and Wrap do. That leaves the key
// in the store alone, and lets the next caller of this process in. Hooks are told of a release,
// and of an acquisition when the handle is adopted.
//
// The handle is good for one Adopt, and has only letters, digits and "-._". It is a secret:
// whoever has it can take, renew and release the lock.
//
// Refused are the leases of readers, re-entries, leases with MinHold, and those with which a
// transaction is guarded. If the backend cannot do it, the error wraps
// [errors.ErrUnsupported].
func (lease *Lease) HandOff(ctx context.Context) (handle string, err error) {
	if err := lease.mayHandOff(); err != nil {
		return "", lease.fail("hand off", err)
	}
	if err := lease.Refresh(ctx); err != nil {
		return "", err
	}
	lease.mu.Lock() // no release meanwhile
	defer lease.mu.Unlock()
	if lease.released {
		return "", lease.fail("hand off", leasestate.ErrReleased)
	}
	now := time.Now()
	left, err := lease.state.HandOff(now)
	if err != nil {
		return "", lease.fail("hand off", err)
	}
	lease.ctx.end(lease.fail("hold", leasestate.ErrHandedOff))
	lease.engine.watchdog.remove(lease.state)
	g := lease.state.Grant()
	return bridge.Seal(handleVersion, bridge.NoSecret, handoff{g.Key, g.Owner, g.TTL, g.Permits, lease.Token(), left, now.UnixMilli()}), nil
}

func (lease *Lease) mayHandOff() error {
	switch {
	case lease.reentered != nil:
		return fmt.Errorf("%w: hand off the lease that this one re-enters", ErrReentry)
	case !lease.engine.features.HandOff:
		return lease.engine.noHandOff()
	case lease.state.Class().Sharing.Mode == Shared:
		return errors.New("it is the lease of a reader")
	case lease.minHold > 0:
		return errors.New("it has a MinHold")
	}
	return nil
}

func (eng *engine) noHandOff() error {
	return fmt.Errorf("the backend %T cannot pass a lease to another process: %w", eng.backend, errors.ErrUnsupported)
}

// errHandle refuses a handle of which the store knows nothing.
var errHandle = fmt.Errorf("%w: the lease of the handle has ended, was adopted, or is in another store", ErrLost)

// handoff is what a handle contains.
type handoff struct {
	Key     string        `json:"k"`
	Owner   string        `json:"o"`
	TTL     time.Duration `json:"t"`
	Permits int           `json:"p,omitempty"`
	Token   uint64        `json:"f,omitempty"`
	Left    time.Duration `json:"l,omitempty"` // of MaxHold; 0: no limit
	At      int64         `json:"a"`           // when it was made, in milliseconds of Unix time
}

// handleVersion begins the text of a handle.
const handleVersion = "distlock1."

// parseHandle returns what is in a handle, and completes opts with its terms. It never puts the
// text into the error.
func parseHandle(text string, opts *Opts) (h handoff, _ error) {
	// A store may have a meaning for owners of another form.
	if !bridge.Open(handleVersion, bridge.NoSecret, text, &h) || len(h.Owner) < 36 || uuid.Validate(h.Owner[:36]) != nil {
		return handoff{}, errors.New("the text is not a handle of this version, or damaged")
	}
	if opts.Mode == Shared || opts.Permits != 0 && opts.Permits != h.Permits {
		return h, errors.New("Mode and Permits of a handle cannot be changed")
	}
	if opts.Fencing && h.Token == 0 {
		return h, ErrNoFencing
	}
	opts.Permits, opts.KeyTimeout = h.Permits, cmp.Or(opts.KeyTimeout, h.TTL)
	if h.Left == 0 {
		return h, nil
	}
	left := min(h.Left, h.Left-time.Since(time.UnixMilli(h.At))).Truncate(time.Millisecond)
	if left <= 0 {
		return h, fmt.Errorf("%w: MaxHold has ended the lease of the handle", ErrLost)
	}
	if opts.MaxHold == 0 || left < opts.MaxHold {
		opts.MaxHold = left
	}
	return h, nil
}
