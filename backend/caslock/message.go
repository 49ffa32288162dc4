package caslock

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/wake"
)

// message is what a process tells another: that the key is free, that somebody waits, or,
// with neither, that the owner is asked to give it back.
type message struct {
	Key     string          `json:"key"`
	Owner   string          `json:"owner"`           // the receiver
	Ahead   int             `json:"ahead,omitempty"` // places before the owner that are to take the key first
	Waits   bool            `json:"waits,omitempty"` // somebody waits: the holder is asked to set the mark
	Version string          `json:"version,omitempty"`
	Record  json.RawMessage `json:"record,omitempty"` // the value with that version
}

// looker is the messenger of a store that is none: it says at intervals that messages may have
// been lost.
type looker struct{}

func (looker) Send(context.Context, string, []byte) {}

func (looker) Listen(ctx context.Context, _ string, f func(data []byte)) {
	for clock.Sleep(ctx, poll*7/8+rand.N(poll/4)) {
		f(nil)
	}
}

// listen begins to listen to the messages for this process.
func (b *backend) listen() {
	b.listening.Do(func() {
		b.beside.Go(func() {
			for b.ctx.Err() == nil {
				again := time.Now().Add(time.Second)
				b.messenger.Listen(b.ctx, b.topic, b.receive)
				clock.Sleep(b.ctx, time.Until(again))
			}
		})
	})
}

func (b *backend) send(topic string, m *message) {
	if topic == b.topic {
		b.receive(encode(m))
	} else if topic != "" {
		data := encode(m)
		b.beside.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), requestTimeout)
			defer cancel()
			b.messenger.Send(ctx, topic, data)
		})
	}
}

func (b *backend) receive(data []byte) {
	var m message
	switch {
	case data == nil: // messages may have been lost
		b.lookAtHeld("")
		b.locked(func() {
			for _, w := range b.waiters {
				w.wake(anyVersion)
			}
		})
	case json.Unmarshal(data, &m) != nil:
	case m.Waits:
		b.see(m.Key, func(s *sight) { s.asked = true })
	case m.Version == "":
		b.lookAtHeld(m.Owner)
	default:
		_, _ = b.read(m.Key, m.Record, m.Version)
		b.locked(func() {
			w := b.waiters[m.Owner]
			if at := time.Now().Add(turnTime * time.Duration(m.Ahead)); w != nil && m.Ahead == 0 {
				w.wake(m.Version)
			} else if w != nil && at.Before(w.lookAt) {
				w.lookAt = at
				wake.Signal(w.turn) // it asks, and rests until then
			}
		})
	}
}

// pass tells those whose turn it is, and the one behind them, that the key may be had. What it
// cannot tell, they find out by themselves.
func (b *backend) pass(ctx context.Context, key, from string, r *record) {
	if !r.Waiting || len(r.Holders) > 0 && r.Holders[0].sharing() == (driver.Sharing{}) {
		return
	}
	var line []lease
	var places int
	stays := false
	for n := 2; n <= glance && places >= len(line); n *= 8 { // one writer is all, as a rule
		found, all, err := b.waiting(ctx, key, from, r, n)
		if err != nil {
			return
		}
		line = without(found, from)
		stays = len(line) < len(found)
		if places, _ = r.turn(line, driver.Sharing{}); all {
			break
		}
	}
	m := message{Key: key, Version: r.version, Record: encode(r)}
	for i, p := range line[:min(places+1, len(line))] {
		m.Owner, m.Ahead = p.Owner, max(0, i+1-places)
		b.send(p.Reply, &m)
	}
	if stays { // another process took the key for it, or it could not leave
		_ = b.leave(ctx, key, from)
	}
}
