package redislock

import (
	"context"
	"errors"
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
	id         string
	channel    string
	topology   topology
	background *rediskit.Background
	opened     sync.Once

	mu      sync.Mutex
	waiters map[string]chan message
}

const (
	// pingEvery is the time without traffic after which the connection gets a ping. If
	// there is no traffic for as long again, the connection is replaced. go-redis itself
	// notices only that a ping cannot be written, which takes a quarter of an hour if the
	// network drops all packets.
	pingEvery = 3 * time.Second

	// reconnectPause is the pause between attempts to connect.
	reconnectPause = 250 * time.Millisecond
)

func newInbox(t topology, prefix, id string, bg *rediskit.Background) *inbox {
	return &inbox{
		id:         id,
		channel:    prefix + id,
		topology:   t,
		background: bg,
		waiters:    make(map[string]chan message),
	}
}

// message says that a key was granted to a waiter. The zero value says that the waiter
// should make an attempt.
type message struct {
	claim  time.Duration // for how long the key was granted
	tokens string        // the tokens and whether others wait: see granted
}

// register returns the channel of messages for an owner, which is about to wait, and a
// function that ends the registration.
func (in *inbox) register(owner string) (<-chan message, func()) {
	messages := make(chan message, 1)
	in.mu.Lock()
	in.waiters[owner] = messages
	in.mu.Unlock()
	return messages, func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.waiters[owner] == messages {
			delete(in.waiters, owner)
		}
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
	if messages, ok := in.waiters[owner]; ok {
		send(messages, message{time.Duration(ms) * time.Millisecond, tokens})
	}
}

func (in *inbox) wakeAll() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, messages := range in.waiters {
		send(messages, message{})
	}
}

// send does not block: a message that finds another one there only saves time.
func send(messages chan<- message, m message) {
	select {
	case messages <- m:
	default:
	}
}

// open starts to listen when it is called for the first time.
func (in *inbox) open() {
	in.opened.Do(func() {
		if _, ok := in.topology.client.(*redis.Ring); ok {
			// A release publishes on the shard of its key, but the inbox may be on
			// another. Waiters poll.
			return
		}
		in.background.Run(in.listen)
	})
}

func (in *inbox) listen(ctx context.Context) {
	for ctx.Err() == nil {
		in.listenOnce(ctx)
		sleep(ctx, nil, reconnectPause)
	}
}

// listenOnce listens until ctx ends or the connection is silent. After an error of the
// connection, go-redis connects and subscribes again.
func (in *inbox) listenOnce(ctx context.Context) {
	sub := in.topology.client.Subscribe(ctx, in.channel)
	// Close ends a read. It may have to wait for the end of a dial.
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	defer stop()
	defer sub.Close() //nolint:errcheck // it is closed already, or its error does not matter

	var heard atomic.Bool
	done := make(chan struct{})
	var pinger sync.WaitGroup
	defer pinger.Wait()
	defer close(done)
	pinger.Go(func() { in.ping(ctx, sub, &heard, done) })

	for failures := 0; ; {
		msg, err := sub.Receive(ctx)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, redis.ErrClosed) {
				return
			}
			in.topology.refresh()
			if failures++; failures > 1 {
				sleep(ctx, done, reconnectPause)
			}
			continue
		}
		failures = 0
		heard.Store(true)
		switch msg := msg.(type) {
		case *redis.Subscription:
			in.wakeAll()
		case *redis.Message:
			in.deliver(msg.Payload)
		}
	}
}

// ping sends a ping when there was no traffic, and closes the subscription if there is no
// answer.
func (in *inbox) ping(ctx context.Context, sub *redis.PubSub, heard *atomic.Bool, done <-chan struct{}) {
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	pinged := false
	for {
		select {
		case <-done:
			return
		case <-t.C:
		}
		switch {
		case heard.Swap(false):
			pinged = false
		case pinged:
			in.topology.refresh()
			_ = sub.Close()
			return
		default:
			_ = sub.Ping(ctx) // an error shows in Receive, or as silence
			pinged = true
		}
	}
}

// sleep waits for d. It returns false if ctx ends or done is closed first.
func sleep(ctx context.Context, done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-done:
	case <-ctx.Done():
	}
	return false
}
