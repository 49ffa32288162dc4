package caslock

import (
	"context"
	"encoding/json"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// message is what a process tells another.
type message struct {
	Kind    string          `json:"kind"`
	Key     string          `json:"key"`
	Owner   string          `json:"owner"` // whom it is for
	Version string          `json:"version,omitempty"`
	Record  json.RawMessage `json:"record,omitempty"` // the value with that version
}

// The kinds of messages.
const (
	itsTurn = "turn"   // the key is free for the owner
	isNext  = "next"   // the key is free for the one before the owner
	waits   = "wait"   // somebody waits: the holder is asked to set the mark
	giveUp  = "revoke" // the owner is asked to give the key back
)

// listen begins to listen to the messages for this process.
func (b *backend) listen() {
	if b.messenger != nil {
		b.listening.Do(func() { b.messenger.Listen(b.ctx, b.topic, b.receive) })
	}
}

func (b *backend) send(topic string, m *message) {
	data, err := json.Marshal(m)
	switch {
	case err != nil:
	case topic == b.topic:
		b.receive(data)
	case b.messenger != nil && topic != "":
		b.messenger.Send(topic, data)
	}
}

func (b *backend) receive(data []byte) {
	var m message
	if data == nil { // messages may have been lost
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, w := range b.waiters {
			w.tell()
		}
		for _, w := range b.watchers {
			go w.look()
		}
		return
	}
	if json.Unmarshal(data, &m) != nil {
		return
	}
	switch m.Kind {
	case giveUp:
		b.revoke(m.Owner)
		return
	case waits:
		b.see(m.Key, func(s *sight) { s.asked = true })
		return
	}
	b.know(m.Key, m.Record, m.Version)
	idle := b.idle(m.Key, m.Version)
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiters[m.Owner]
	switch {
	case w == nil:
	case m.Kind == itsTurn:
		w.hint = m.Version
		w.tell()
	case m.Kind == isNext:
		if at := time.Now().Add(turnTime - idle + time.Millisecond); at.Before(w.lookAt) {
			w.lookAt = at
			w.setTimer()
		}
	}
}

// pass tells those whose turn it is, and the one behind them, that the key may be had. What it
// cannot tell, they find out by themselves.
func (b *backend) pass(ctx context.Context, key, from string, r *record) {
	if !r.Waiting {
		return
	}
	if n := len(r.Holders); n > 0 && !r.Holders[0].Shared && r.Holders[0].Permits == 0 {
		return
	}
	var line []lease
	var places int
	stays := false
	for n := 2; n <= glance && places >= len(line); n *= 8 { // one writer is all, as a rule
		found, all, err := b.line.places(ctx, key, n)
		if err != nil {
			return
		}
		stays = find(found, from) >= 0
		line = r.withoutHolders(without(found, from))
		b.see(key, func(s *sight) { s.crowd = len(line) > 0 })
		if places, _ = r.turn(line, driver.Sharing{}); all {
			break
		}
	}
	m := message{Kind: itsTurn, Key: key, Version: r.version, Record: r.encode()}
	for i, p := range line[:min(places+1, len(line))] {
		if i == places {
			m.Kind = isNext
		}
		m.Owner = p.Owner
		b.send(p.Reply, &m)
	}
	if stays { // another process took the key for it, or it could not leave
		_ = b.line.leave(ctx, key, from)
	}
}
