package caslock

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/background"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/wake"
)

// message is what a process tells another: that the key is free, that somebody waits, or,
// with neither, that the owner is asked to give it back.
type message struct {
	Key     string          `json:"key"`
	Owner   string          `json:"owner"`           // the receiver, or the waiter
	Ahead   int             `json:"ahead,omitempty"` // places before the owner that are to take the key first
	Waits   bool            `json:"waits,omitempty"` // somebody waits: the holder is asked to set the mark
	Version string          `json:"version,omitempty"`
	Record  json.RawMessage `json:"record,omitempty"` // the value with that version
}

// poll is how often a waiter looks at a store that is no Messenger. It is less than turnTime, so
// that no waiter misses its turn.
const poll = 500 * time.Millisecond

// looker is the messenger of a store that is none: it says at intervals that messages may have
// been lost.
type looker struct{}

func (looker) Send(context.Context, string, []byte) {}

func (looker) Listen(ctx context.Context, _ string, f func(data []byte)) {
	for clock.Sleep(ctx, poll*7/8+rand.N(poll/4)) {
		f(nil)
	}
}

// post is what a process tells others, and what it hears.
type post struct {
	waiters

	cells      *cells
	messenger  Messenger
	topic      string // on which this process listens
	listening  sync.Once
	background *background.Work         // messages
	watches    map[chan struct{}]string // of Revoked, and the owner; under the mutex of the waiters
}

// listen begins to listen to the messages for this process.
func (p *post) listen() {
	p.listening.Do(func() {
		p.background.Run(func() {
			for p.background.Err() == nil {
				again := time.Now().Add(time.Second)
				p.messenger.Listen(p.background, p.topic, p.receive)
				clock.Sleep(p.background, time.Until(again))
			}
		})
	})
}

func (p *post) send(topic string, m *message) {
	if topic == p.topic {
		p.receive(encode(m))
	} else if topic != "" {
		data := encode(m)
		p.background.Run(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(p.background), requestTimeout)
			defer cancel()
			p.messenger.Send(ctx, topic, data)
		})
	}
}

func (p *post) receive(data []byte) {
	var m message
	switch {
	case data == nil: // messages may have been lost
		p.lookAtHeld("")
		p.locked(func() {
			for _, w := range p.all {
				w.wake(anyVersion)
			}
		})
	case json.Unmarshal(data, &m) != nil:
	case m.Waits:
		p.cells.see(m.Key, func(s *sight) { s.asked = true })
	case m.Version == "":
		p.lookAtHeld(m.Owner)
	default:
		_, _ = p.cells.read(m.Key, m.Record, m.Version)
		p.locked(func() {
			w := p.all[m.Owner]
			if at := time.Now().Add(turnTime * time.Duration(m.Ahead)); w != nil && m.Ahead == 0 {
				w.wake(m.Version)
			} else if w != nil && at.Before(w.lookAt) {
				w.lookAt = at
				wake.Signal(w.turn) // it asks, and rests until then
			}
		})
	}
}

// lookAtHeld makes the watches of a holder, or of all, look whether it is asked to give the key
// back, or the key was taken from it.
func (p *post) lookAtHeld(owner string) {
	p.locked(func() {
		for look, o := range p.watches {
			if owner == "" || o == owner {
				wake.Signal(look)
			}
		}
	})
}
