package redislock

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/background"
)

// inbox is the channel on which this Backend receives messages: that a key was granted
// to an owner that waits here. It has a connection of its own, so that other traffic
// does not delay it.
//
// Messages only save time. A message may be lost, so every waiter also polls, and no
// waiter waits for the subscription. Whenever the subscription is confirmed, all
// waiters make an attempt, because they may have missed a message before.
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

func newInbox(client redis.UniversalClient, prefix, id string, work *background.Work) *inbox {
	in := &inbox{id: id, channel: prefix + id, waiters: make(map[string]*waiter)}
	// With a Ring waiters poll: a release publishes on the shard of its key, but the
	// inbox may be on another.
	if _, ring := client.(*redis.Ring); !ring {
		in.listener = rediskit.NewListener(client, work)
	}
	return in
}

// message says that a key was granted to a waiter. The zero value says that the waiter
// should make an attempt.
type message struct {
	claim  time.Duration // for how long the key was granted
	tokens string        // the tokens and whether others wait: see granted
}

// grantOf returns the grant in a message to the owner of a request, or the zero value. Its
// last attempt was refused: it was sent at the time asked, and issued is the last token then.
type grantOf func(r driver.Request, m message, asked time.Time, issued uint64) driver.Grant

// waiter is an owner that may have a place in a queue. It ends with a grant, with the
// context of its watch, or with Release.
type waiter struct {
	in      *inbox
	request driver.Request
	settled atomic.Bool // it was registered, or has ended before

	began time.Time

	// The mutex of the inbox guards these.
	asked  time.Time         // when the attempt was sent that was refused last
	issued uint64            // the last token that was issued before that refusal
	turn   chan driver.Grant // has room for one; nil before the watch
	grant  grantOf           // of the watch
	came   *message          // before the watch, or nil
	look   *time.Timer       // of the watch
}

// waiterOf returns the waiter of an owner, or a new one.
func (in *inbox) waiterOf(r driver.Request) *waiter {
	in.mu.Lock()
	defer in.mu.Unlock()
	if w := in.waiters[r.Owner]; w != nil {
		return w
	}
	return &waiter{in: in, request: r, began: time.Now()}
}

// register is called before a script that queues the owner: a message may come at once.
// It does nothing if w is nil.
func (w *waiter) register() {
	if w == nil {
		return
	}
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	if w.settled.CompareAndSwap(false, true) {
		w.in.waiters[w.request.Owner] = w
	}
}

// refused notes that the server has refused an attempt. A grant that nobody has
// received yet, and that was over by then, becomes a value that asks for another
// attempt.
func (w *waiter) refused(asked time.Time, issued uint64) {
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	w.asked, w.issued = asked, issued
	if w.turn == nil {
		return
	}
	w.look.Reset(w.pause())
	select {
	case g := <-w.turn:
		if g.Token <= issued {
			g = driver.Grant{}
		}
		w.turn <- g
	default:
	}
}

// pause returns how long to wait for a message before another attempt: a third of the time
// after which the queue is deleted. If no message can come, it is an eighth of the time that
// the owner has waited, so that the key stands still for little of the time.
func (w *waiter) pause() time.Duration {
	const longest = queueTTL / 3
	if l := w.in.listener; l != nil && l.Subscribed(w.in.channel) {
		return longest
	}
	return min(max(time.Since(w.began)/8, time.Millisecond), longest)
}

// watch returns the channel of an owner's waiter, or nil if it has none. The channel also
// receives a value after each pause.
func (in *inbox) watch(ctx context.Context, owner string, grant grantOf) <-chan driver.Grant {
	in.mu.Lock()
	defer in.mu.Unlock()
	w := in.waiters[owner]
	if w == nil {
		return nil
	}
	if w.turn == nil {
		w.look = time.AfterFunc(w.pause(), func() { in.tell(owner, message{}) })
	}
	w.turn, w.grant = make(chan driver.Grant, 1), grant
	if w.came != nil {
		w.send(*w.came)
	}
	context.AfterFunc(ctx, w.end)
	return w.turn
}

// endUnwatched ends the waiter unless it is watched.
func (w *waiter) endUnwatched() {
	w.in.mu.Lock()
	watched := w.turn != nil
	w.in.mu.Unlock()
	if !watched {
		w.end()
	}
}

// end ends the waiter. The script may be sent later, by others.
func (w *waiter) end() {
	if w.settled.CompareAndSwap(false, true) {
		return // most locks are free
	}
	w.in.end(w.request.Owner)
}

func (in *inbox) end(owner string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	w := in.waiters[owner]
	if w == nil {
		return
	}
	delete(in.waiters, owner)
	if w.look != nil {
		w.look.Stop()
	}
}

// deliver passes on the text of a message, which grant_next in queue.lua describes. A
// text of another form only wakes the waiter.
func (in *inbox) deliver(text string) {
	owner, rest, _ := strings.Cut(text, " ")
	claim, tokens, _ := strings.Cut(rest, " ")
	ms, _ := strconv.ParseInt(claim, 10, 64)
	in.tell(owner, message{time.Duration(ms) * time.Millisecond, tokens})
}

func (in *inbox) tell(owner string, m message) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if w := in.waiters[owner]; w != nil {
		w.send(m)
	}
}

func (in *inbox) wakeAll() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, w := range in.waiters {
		w.send(message{})
	}
}

// send passes on a message. One that only asks for an attempt does not replace another.
// The caller has the mutex.
func (w *waiter) send(m message) {
	if w.turn == nil {
		if w.came == nil || m.tokens != "" {
			w.came = &m
		}
		return
	}
	select {
	case w.turn <- w.grant(w.request, m, w.asked, w.issued):
	default: // an attempt is due, which claims what was granted
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
