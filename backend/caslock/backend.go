// Package caslock makes a lock backend of any store that can do two things: read a value with
// its version, and replace it if it still has that version. Such a store can be forty lines
// of Go, and has the whole contract of package driver: leases, fencing tokens, a fair
// queue, sharing, inspection and revocation.
//
//	locker := distlock.New(caslock.New(myStore, caslock.Config{}), distlock.Config{})
//
// # How it works
//
// A key has a cell with its holders. Only a swap of this cell makes a holder, so exclusion
// rests on nothing but the condition of [Store.Swap]. Those who wait are in a line apart, so
// that they do not disturb the renewals: in a cell of its own, or in [Tickets] if the store
// has them. The line only says who should try next. If it is lost, or old, a waiter may be
// late; nobody gets a key that is held.
//
// No two clocks are compared. A lease has ended when a process has seen it unchanged for its
// length, on the process's own clock. So a process that sees a key for the first time just
// before a dead holder's lease ends waits for one more lease.
//
// The value of a cell is a small JSON object, which other languages can read and write:
// docs/record.md describes it.
package caslock

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/background"
	"github.com/distlock-go/distlock/internal/firstuse"
)

// Config configures a backend. The zero value is the default.
type Config struct {
	// MaxTTL is the longest lease; 0 means no limit. A store that forgets cells must keep
	// each for at least twice as long after it was written.
	MaxTTL time.Duration
}

// backend is a driver.Backend with all abilities that the store allows.
type backend struct {
	*cells
	lines
	post

	cfg     Config
	leaving sync.Map // a channel for each holder: closed when its place is gone
}

// New returns a backend on s. It closes s if that is an [io.Closer]. New panics if cfg.MaxTTL is
// negative.
func New(s Store, cfg Config) driver.Backend {
	if cfg.MaxTTL < 0 {
		panic(fmt.Sprintf("caslock: Config.MaxTTL is negative: %v", cfg.MaxTTL))
	}
	c := &cells{store: s, checked: firstuse.New(), sights: make(map[string]*sight)}
	b := &backend{cells: c, lines: lines{cells: c}, post: post{
		waiters: waiters{all: make(map[string]*waiter)}, cells: c, messenger: looker{}, topic: rand.Text(),
		background: background.New(), watches: make(map[chan struct{}]string),
	}, cfg: cfg}
	b.tickets, _ = s.(Tickets)
	if m, ok := s.(Messenger); ok {
		b.messenger = m
	}
	return b
}

// Features implements driver.Backend.
func (b *backend) Features() driver.Features {
	return driver.Features{Sharing: true, HandOff: true, MaxTTL: b.cfg.MaxTTL}
}

// tooLong returns an error if the store may forget a cell before a lease of it ends.
func (b *backend) tooLong(ttl time.Duration) error {
	if b.cfg.MaxTTL > 0 && ttl > b.cfg.MaxTTL {
		return fmt.Errorf("a lease of %v is longer than %v, the longest of this store", ttl, b.cfg.MaxTTL)
	}
	return nil
}

// Ping implements driver.Pinger.
func (b *backend) Ping(ctx context.Context) error {
	_, err := b.load(ctx, linePrefix+"ping")
	return err
}

// Close implements io.Closer. A process that ends just after a release has sent its messages.
func (b *backend) Close() error {
	b.background.Close(nil)
	b.background.Wait()
	if c, ok := b.store.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
