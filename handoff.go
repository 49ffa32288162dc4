package distlock

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/google/uuid"

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
	h := handoff{g.Key, g.Owner, g.TTL, g.Permits, lease.Token(), left, now.UnixMilli()}
	return h.encode(), nil
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

// handleVersion begins the text of a handle. JSON and its checksum follow.
const handleVersion = "distlock1."

func (h handoff) encode() string {
	value, err := json.Marshal(h)
	if err != nil {
		panic("distlock: " + err.Error()) // text and numbers can be encoded
	}
	value = binary.BigEndian.AppendUint32(value, crc32.ChecksumIEEE(value))
	return handleVersion + base64.RawURLEncoding.EncodeToString(value)
}

// parseHandle never puts the text into the error.
func parseHandle(text string) (h handoff, _ error) {
	value, ok := strings.CutPrefix(text, handleVersion)
	if !ok {
		return h, errors.New("the text is not a handle of this version")
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(value)
	n := len(b) - crc32.Size
	if err != nil || n < 0 || crc32.ChecksumIEEE(b[:n]) != binary.BigEndian.Uint32(b[n:]) || json.Unmarshal(b[:n], &h) != nil {
		return handoff{}, errors.New("the handle is damaged")
	}
	if len(h.Owner) < 36 || uuid.Validate(h.Owner[:36]) != nil { // a store may have a meaning for other texts
		return handoff{}, errors.New("the handle is damaged")
	}
	return h, nil
}

// limit completes opts with the terms of the handle.
func (h *handoff) limit(opts *Opts) error {
	if opts.Mode == Shared || opts.Permits != 0 && opts.Permits != h.Permits {
		return errors.New("Mode and Permits of a handle cannot be changed")
	}
	if opts.Fencing && h.Token == 0 {
		return ErrNoFencing
	}
	opts.Permits, opts.KeyTimeout = h.Permits, cmp.Or(opts.KeyTimeout, h.TTL)
	if h.Left == 0 {
		return nil
	}
	left := min(h.Left, h.Left-time.Since(time.UnixMilli(h.At))).Truncate(time.Millisecond)
	if left <= 0 {
		return fmt.Errorf("%w: MaxHold has ended the lease of the handle", ErrLost)
	}
	if opts.MaxHold == 0 || left < opts.MaxHold {
		opts.MaxHold = left
	}
	return nil
}
