package redislock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// inbox is the channel on which this Backend is told that a key was passed on
// to an owner that waits here. It has a connection of its own, so that no other
// traffic delays it.
//
// Messages save time and nothing else: one may be lost, and whoever waits polls
// too. So nobody waits for the subscription either. When it is confirmed, the
// first time or again, all who wait look at once, because of what they missed.
//
// In queues an owner that waits here is "<id>:<owner>".
type inbox struct {
	id         string
	channel    string
	nodes      nodes
	background *rediskit.Background
	opened     sync.Once

	mu      sync.Mutex
	waiters map[string]chan struct{}
}

const (
	// A connection without traffic for this long is asked for a sign of life,
	// and replaced if it gives none for as long again. go-redis itself only
	// notices when a ping cannot be written, which on a connection that was cut
	// silently takes a quarter of an hour.
	pingEvery = 3 * time.Second

	// Between attempts to connect.
	reconnectPause = 250 * time.Millisecond
)

func newInbox(n nodes, prefix, id string, bg *rediskit.Background) *inbox {
	return &inbox{
		id:         id,
		channel:    prefix + id,
		nodes:      n,
		background: bg,
		waiters:    make(map[string]chan struct{}),
	}
}

// join registers an owner that is about to wait. The returned function takes it
// back.
func (in *inbox) join(owner string) (<-chan struct{}, func()) {
	wake := make(chan struct{}, 1)
	in.mu.Lock()
	in.waiters[owner] = wake
	in.mu.Unlock()
	return wake, func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.waiters[owner] == wake {
			delete(in.waiters, owner)
		}
	}
}

func (in *inbox) wake(owner string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if wake, ok := in.waiters[owner]; ok {
		signal(wake)
	}
}

func (in *inbox) wakeAll() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, wake := range in.waiters {
		signal(wake)
	}
}

// signal never blocks: one wake-up that was not yet seen is as good as two.
func signal(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// open starts listening, the first time that it is called.
func (in *inbox) open() {
	in.opened.Do(func() {
		if _, ok := in.nodes.client.(*redis.Ring); ok {
			// A release publishes on the shard of its key, the inbox would be
			// on another. Those who wait poll.
			return
		}
		in.background.Run(in.listen)
	})
}

func (in *inbox) listen(ctx context.Context) {
	for ctx.Err() == nil {
		in.listenOnce(ctx)
		_ = sleep(ctx, nil, reconnectPause)
	}
}

// listenOnce listens until ctx ends or a subscription has gone silent. Errors of
// its connection it leaves to go-redis, which connects and subscribes again.
func (in *inbox) listenOnce(ctx context.Context) {
	sub := in.nodes.client.Subscribe(ctx, in.channel)
	// Closing is what ends a read. It may have to wait for a dial to end.
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	defer stop()
	defer sub.Close() //nolint:errcheck // closed already, or it does not matter

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
			in.nodes.silent()
			if failures++; failures > 1 {
				_ = sleep(ctx, done, reconnectPause)
			}
			continue
		}
		failures = 0
		heard.Store(true)
		switch msg := msg.(type) {
		case *redis.Subscription:
			in.wakeAll()
		case *redis.Message:
			in.wake(msg.Payload)
		}
	}
}

// ping closes a subscription on which nothing was heard although it was asked.
func (in *inbox) ping(ctx context.Context, sub *redis.PubSub, heard *atomic.Bool, done <-chan struct{}) {
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	asked := false
	for {
		select {
		case <-done:
			return
		case <-t.C:
		}
		switch {
		case heard.Swap(false):
			asked = false
		case asked:
			in.nodes.silent()
			_ = sub.Close()
			return
		default:
			_ = sub.Ping(ctx) // an error shows in Receive, or as silence
			asked = true
		}
	}
}
