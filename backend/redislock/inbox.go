package redislock

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// inbox is the channel on which this Backend receives messages: that a key was granted to
// an owner that waits here. It has a connection of its own, so that other traffic does not
// delay it.
//
// Messages only save time. A message may be lost, so every waiter also polls, and no waiter
// waits for the subscription. Whenever the subscription is confirmed, all waiters make an
// attempt, because they may have missed a message before.
//
// The queue entry of an owner that waits here is "<id>:<owner>".
type inbox struct {
	id       string
	channel  string
	listener *rediskit.Listener // nil if there is none
	opened   sync.Once

	mu      sync.Mutex
	waiters map[string]*waiter // by owner
}

func newInbox(client redis.UniversalClient, prefix, id string, bg *rediskit.Background) *inbox {
	in := &inbox{id: id, channel: prefix + id, waiters: make(map[string]*waiter)}
	// With a Ring waiters poll: a release publishes on the shard of its key, but the inbox
	// may be on another.
	if _, ring := client.(*redis.Ring); !ring {
		in.listener = rediskit.NewListener(client, bg)
	}
	return in
}

// message says that a key was granted to a waiter. The zero value says that the waiter
// should make an attempt.
type message struct {
	claim  time.Duration // for how long the key was granted
	tokens string        // the tokens and whether others wait: see granted
}

// waiter is an acquisition that queues if it has to.
type waiter struct {
	in       *inbox
	owner    string
	queued   bool         // an attempt was refused: it may have a place
	messages chan message // nil until it is registered
	settled  atomic.Bool  // it was registered, or has ended before
}

// register is called before a script that queues the owner: a message may come at once. It does
// nothing if w is nil.
func (w *waiter) register() {
	if w == nil {
		return
	}
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	if w.settled.CompareAndSwap(false, true) {
		w.messages = make(chan message, 1)
		w.in.waiters[w.owner] = w
	}
}

// end ends the registration. The script may be sent later, by others.
func (w *waiter) end() {
	if w.settled.CompareAndSwap(false, true) {
		return // most locks are free
	}
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	if w.in.waiters[w.owner] == w {
		delete(w.in.waiters, w.owner)
	}
}

// deliver passes on the text of a message, which grant_next in queue.lua describes. A text
// of another form only wakes the waiter.
func (in *inbox) deliver(text string) {
	owner, rest, _ := strings.Cut(text, " ")
	claim, tokens, _ := strings.Cut(rest, " ")
	ms, _ := strconv.ParseInt(claim, 10, 64)
	in.mu.Lock()
	defer in.mu.Unlock()
	if w := in.waiters[owner]; w != nil {
		w.send(message{time.Duration(ms) * time.Millisecond, tokens})
	}
}

func (in *inbox) wakeAll() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, w := range in.waiters {
		w.send(message{})
	}
}

// send does not block: a message that finds another one there only saves time.
func (w *waiter) send(m message) {
	select {
	case w.messages <- m:
	default:
	}
}

// open starts to listen when it is called for the first time.
func (in *inbox) open() {
	in.opened.Do(func() {
		if in.listener != nil {
			in.listener.Subscribe(in.channel, in.deliver, in.wakeAll)
		}
	})
}
