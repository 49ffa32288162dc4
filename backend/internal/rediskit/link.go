package rediskit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// link is a connection on which a [Listener] receives messages. It ends when the
// connection breaks or is silent.
type link struct {
	listener *Listener
	addr     string
	client   redis.UniversalClient
	changed  chan struct{} // room for one: there is something in added
	heard    atomic.Bool   // there was traffic since the last check
	worked   bool          // there was traffic at all

	added []string // channels to subscribe; guarded by the mutex of the Listener
}

// maxRefusals is how many errors the server may answer one after the other before the
// connection is replaced. That the user may not do something is not counted.
const maxRefusals = 3

// run receives until ctx ends or the connection does not work.
func (k *link) run(ctx context.Context) {
	defer k.listener.ended(ctx, k)
	sub := k.client.Subscribe(ctx)
	// Close ends a read. It may have to wait for the end of a dial.
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	defer stop()
	defer sub.Close() //nolint:errcheck // it is closed already, or its error does not matter
	if k.subscribe(ctx, sub, k.take()) != nil {
		return
	}

	done := make(chan struct{})
	var sender sync.WaitGroup
	defer sender.Wait()
	defer close(done)
	sender.Go(func() { k.send(ctx, sub, done) })

	for refusals := 0; refusals <= maxRefusals; {
		msg, err := sub.Receive(ctx)
		if err != nil {
			switch {
			case !Answered(err):
				return
			case redis.HasErrorPrefix(err, "NOPERM"): // a channel or a ping is refused, the others work
				k.heard.Store(true)
			default:
				refusals++
			}
			continue
		}
		refusals = 0
		k.worked = true
		k.heard.Store(true)
		switch msg := msg.(type) {
		case *redis.Subscription:
			switch msg.Kind {
			case "subscribe", "ssubscribe":
				k.listener.confirm(k, msg.Channel, true)
			case "sunsubscribe": // also if the slot moves to another server
				k.listener.confirm(k, msg.Channel, false)
			}
		case *redis.Message:
			k.listener.deliver(msg.Channel, msg.Payload)
		}
	}
}

// send subscribes channels, and checks the connection from time to time. It closes sub
// if the server does not answer, and after [ListenFor].
func (k *link) send(ctx context.Context, sub *redis.PubSub, done <-chan struct{}) {
	defer Recover(new(error))
	defer sub.Close() //nolint:errcheck // unless a function of the user panics, it is closed already
	t := time.NewTicker(PingEvery)
	defer t.Stop()
	end := time.NewTimer(ListenFor)
	defer end.Stop()
	pinged := false
	for {
		select {
		case <-done:
			return
		case <-k.changed:
			if k.subscribe(ctx, sub, k.take()) != nil {
				return
			}
			continue
		case <-end.C:
			return
		case <-t.C:
		}
		k.tidy(ctx, sub)
		switch {
		case k.heard.Swap(false):
			pinged = false
		case pinged:
			return
		default:
			_ = sub.Ping(ctx) // an error shows in Receive, or as silence
			pinged = true
		}
	}
}

// take returns the channels that were added.
func (k *link) take() []string {
	k.listener.mu.Lock()
	defer k.listener.mu.Unlock()
	added := k.added
	k.added = nil
	return added
}

// subscribe has a command for each channel: a refusal concerns one of them.
func (k *link) subscribe(ctx context.Context, sub *redis.PubSub, names []string) error {
	for _, name := range names {
		f := sub.Subscribe
		if k.listener.cluster != nil {
			f = sub.SSubscribe
		}
		if err := f(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// tidy leaves channels without subscribers and tries again what is not
// confirmed.
func (k *link) tidy(ctx context.Context, sub *redis.PubSub) {
	left, pending := k.listener.check(k)
	for _, name := range left {
		f := sub.Unsubscribe
		if k.listener.cluster != nil {
			f = sub.SUnsubscribe
		}
		_ = f(ctx, name) // an error shows in Receive
	}
	if k.listener.cluster != nil && len(pending) > 0 {
		Reload(k.listener.cluster)
		run(k.listener.background, func() { k.listener.place(ctx, pending...) })
		return
	}
	_ = k.subscribe(ctx, sub, pending)
}
