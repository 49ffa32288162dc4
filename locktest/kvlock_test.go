package locktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/locktest"
)

// kvLock keeps locks in a kvServer: it reads a value, and replaces it if it has not changed. It
// keeps the contract, but for the rule that it breaks.
type kvLock struct {
	dial   locktest.DialFunc
	breaks string
}

// kvRecord is the value of a key. The lease ends TTL after it was written, by the clock of the
// server.
type kvRecord struct {
	Owner string // empty: free
	TTL   time.Duration
	Token uint64 // 0: the version of this value
}

// kvEntry is a record as it was read.
type kvEntry struct {
	kvRecord
	version uint64
	left    time.Duration // of the lease, 0 or less if the key is free
}

var errChanged = errors.New("the value has changed")

// kvLimit bounds a request.
const kvLimit = 2 * time.Second

func (b *kvLock) Features() driver.Features { return driver.Features{} }

func (b *kvLock) ask(ctx context.Context, q kvRequest) (r kvReply, err error) {
	if b.breaks != "no time limit" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, kvLimit)
		defer cancel()
	}
	if ctx.Err() != nil {
		return r, driver.NotSent(ctx.Err())
	}
	c, err := b.dial(ctx, "tcp", "kv:1")
	if err != nil {
		return r, driver.NotSent(err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := json.NewEncoder(c).Encode(q); err != nil {
		return r, b.failed(err)
	}
	if err := json.NewDecoder(c).Decode(&r); err != nil {
		return r, b.failed(err)
	}
	if r.Changed {
		return r, errChanged
	}
	return r, nil
}

func (b *kvLock) failed(err error) error {
	if b.breaks == "network errors are refusals" {
		return fmt.Errorf("kv:1: %w: %w", driver.ErrNotAcquired, err)
	}
	return fmt.Errorf("kv:1: %w", err)
}

func (b *kvLock) read(ctx context.Context, key string) (e kvEntry, err error) {
	r, err := b.ask(ctx, kvRequest{Op: "get", Key: key})
	if err != nil {
		return e, err
	}
	if len(r.Value) > 0 {
		err = json.Unmarshal(r.Value, &e.kvRecord)
	}
	if e.Token == 0 {
		e.Token = r.Version
	}
	now := r.Now
	if b.breaks == "clock of the client" {
		now = time.Now()
	}
	e.version = r.Version
	if e.Owner != "" {
		e.left = r.Written.Add(e.TTL).Sub(now)
	}
	return e, err
}

func (b *kvLock) write(ctx context.Context, key string, old kvEntry, next kvRecord, blind bool) (version uint64, err error) {
	value, err := json.Marshal(next)
	if err != nil {
		return 0, err
	}
	r, err := b.ask(ctx, kvRequest{Op: "put", Key: key, Value: value, Version: old.version, Blind: blind})
	return r.Version, err
}

func (b *kvLock) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	for {
		g := r.Grant()
		g.Sent = time.Now()
		old, err := b.read(ctx, r.Key)
		if err != nil {
			return driver.Grant{}, driver.NotSent(err)
		}
		next := kvRecord{Owner: r.Owner, TTL: r.TTL}
		if old.left > 0 {
			if old.Owner != r.Owner {
				return driver.Grant{}, &driver.HeldError{RetryAfter: old.left, Holder: driver.HolderOf(old.Owner)}
			}
			next.Token = old.Token
			if b.breaks != "TryAcquire shortens" {
				next.TTL = max(r.TTL, old.left)
			}
		}
		version, err := b.write(ctx, r.Key, old, next, b.breaks == "TryAcquire without a condition")
		switch {
		case errors.Is(err, errChanged) && b.breaks == "a conflict in TryAcquire is a refusal":
			return driver.Grant{}, driver.ErrNotAcquired
		case errors.Is(err, errChanged):
			continue
		case err != nil:
			return driver.Grant{}, err
		}
		if g.Token = next.Token; g.Token == 0 {
			g.Token = version
		}
		g.LastToken = g.Token
		if b.breaks == "sent after the reply" {
			g.Sent = time.Now()
		}
		return g, nil
	}
}

func (b *kvLock) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	var all sync.WaitGroup
	for i, g := range grants {
		all.Go(func() { report(i, b.renew(ctx, g)) })
	}
	all.Wait()
}

func (b *kvLock) renew(ctx context.Context, g driver.Grant) error {
	for {
		old, err := b.read(ctx, g.Key)
		if err != nil {
			return err
		}
		if old.Owner != g.Owner || old.left <= 0 && b.breaks != "Renew revives" {
			return driver.ErrLost
		}
		next := kvRecord{Owner: g.Owner, TTL: g.TTL, Token: old.Token}
		if !g.Retain && b.breaks != "Renew shortens" {
			next.TTL = max(g.TTL, old.left)
		}
		_, err = b.write(ctx, g.Key, old, next, b.breaks == "Renew without a condition")
		if errors.Is(err, errChanged) && b.breaks == "a conflict in Renew is a loss" {
			return driver.ErrLost
		}
		if !errors.Is(err, errChanged) {
			return err
		}
	}
}

func (b *kvLock) Release(ctx context.Context, g driver.Grant) error {
	for {
		old, err := b.read(ctx, g.Key)
		if err != nil {
			return err
		}
		if blind := b.breaks == "Release without a condition"; !blind && old.Owner != g.Owner {
			if old.left > 0 {
				return fmt.Errorf("kv:1: another owner has the key: %w", driver.ErrLost)
			}
			if g.Token != 0 {
				return nil
			}
			// What is in doubt does not fit any more after another write.
		}
		if _, err = b.write(ctx, g.Key, old, kvRecord{}, false); !errors.Is(err, errChanged) {
			return err
		}
	}
}

// Turn watches the key on a connection of its own, and again when it ends.
func (b *kvLock) Turn(ctx context.Context, r driver.Request) <-chan driver.Grant {
	turn := make(chan driver.Grant, 1)
	go func() {
		for n := 0; ctx.Err() == nil; n++ {
			b.watch(ctx, r.Key, turn, n > 0)
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return turn
}

func (b *kvLock) watch(ctx context.Context, key string, turn chan<- driver.Grant, again bool) {
	c, err := b.dial(ctx, "tcp", "kv:1")
	if err != nil {
		return
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if json.NewEncoder(c).Encode(kvRequest{Op: "watch", Key: key}) != nil {
		return
	}
	in := json.NewDecoder(c)
	for n := 0; ; n++ {
		var r kvReply
		_ = c.SetReadDeadline(time.Now().Add(kvLimit))
		if in.Decode(&r) != nil {
			return
		}
		if !r.Changed || n > 0 && b.breaks == "no wake" || n == 0 && again && b.breaks == "no wake after an interruption" {
			continue
		}
		select {
		case turn <- driver.Grant{}:
		default:
		}
	}
}
