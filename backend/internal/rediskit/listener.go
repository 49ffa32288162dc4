package rediskit

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/background"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/wake"
)

// Listener receives the messages of channels for a process. All channels share one
// connection, which is opened for the first of them. Other traffic does not delay
// messages.
//
// A message may be lost, because the connection may break. So each subscriber is also
// told when its subscription works, and again after each interruption: what was
// published before may have been missed. A Listener notices a connection that is dead,
// or a server that hangs, after at most two times [PingEvery]. It tries until the
// channel has no subscriber or the Work ends.
//
// A Listener is safe for concurrent use.
type Listener struct {
	client     redis.UniversalClient
	cluster    *redis.ClusterClient // nil unless the channels are sharded
	background *background.Work

	mu       sync.Mutex
	channels map[string]*channel
	links    map[string]*link // by the address of the server
}

const (
	// PingEvery is the time without traffic after which a connection gets a ping. If
	// there is no traffic for as long again, the connection is replaced. go-redis
	// itself notices only that a ping cannot be written, which takes a quarter of an
	// hour if the network drops all packets.
	PingEvery = 3 * time.Second

	// ListenFor is how long a connection is used. The address may lead to another
	// server by then, while the old one keeps its connections and receives no messages
	// any more.
	ListenFor = 5 * time.Minute

	// reconnectPause is the pause between attempts to connect.
	reconnectPause = 250 * time.Millisecond
)

// channel is a channel that has, or had a moment ago, subscribers.
type channel struct {
	subscribers []*subscriber // a change makes a new slice
	link        *link         // nil as long as its server is not known
	live        bool          // the server has confirmed the subscription
}

// subscriber has what Subscribe was called with.
type subscriber struct {
	message func(text string)
	look    func()
}

// NewListener returns a Listener with the client. A Ring is not supported: its caller
// does not know on which server it publishes.
func NewListener(client redis.UniversalClient, work *background.Work) *Listener {
	if c, ok := client.(*redis.Client); ok {
		client = guarded(c, c.Options().ReadTimeout)
	}
	return &Listener{client: client, background: work, channels: make(map[string]*channel), links: make(map[string]*link)}
}

// NewShardedListener returns a Listener for the channels of a Cluster that SPUBLISH
// uses. It has one connection to each master that has such a channel.
func NewShardedListener(client *redis.ClusterClient, work *background.Work) *Listener {
	l := NewListener(client, work)
	l.cluster = client
	return l
}

// Subscribe calls message for each message in the channel, in their order, and look
// whenever messages before may have been missed: the first time when the subscription
// works. They must not block. If the subscription works already, look is called before
// Subscribe returns.
//
// The caller ends the subscription with unsubscribe; a call may still be on its way
// then. A channel without subscribers is left a little later, because often the next
// one comes soon.
func (l *Listener) Subscribe(name string, message func(text string), look func()) (unsubscribe func()) {
	s := &subscriber{message, look}
	l.mu.Lock()
	ch, known := l.channels[name]
	if !known {
		ch = &channel{}
		l.channels[name] = ch
	}
	ch.subscribers = append(slices.Clip(ch.subscribers), s)
	live := ch.live
	l.mu.Unlock()
	if !known {
		run(l.background, func() { l.place(l.background, name) })
	}
	if live {
		look()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		ch.subscribers = slices.DeleteFunc(slices.Clone(ch.subscribers), func(o *subscriber) bool { return o == s })
	}
}

// Subscribed reports whether this Listener receives the messages of a channel.
func (l *Listener) Subscribed(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ch := l.channels[name]
	return ch != nil && ch.live
}

// place gives the channels to the links of their servers.
func (l *Listener) place(ctx context.Context, names ...string) {
	for len(names) > 0 && ctx.Err() == nil {
		var failed []string
		for _, name := range names {
			addr, client, err := l.home(ctx, name)
			if err != nil {
				failed = append(failed, name)
				continue
			}
			l.assign(name, addr, client)
		}
		if names = failed; len(names) > 0 {
			Reload(l.client)
			clock.Sleep(ctx, reconnectPause)
		}
	}
}

// home returns the address and the client of a channel's server.
func (l *Listener) home(ctx context.Context, name string) (addr string, _ redis.UniversalClient, err error) {
	defer Recover(&err)
	if l.cluster == nil {
		return "", l.client, nil
	}
	master, err := l.cluster.MasterForKey(ctx, name)
	if err != nil {
		return "", nil, err
	}
	return master.Options().Addr, master, nil
}

// assign gives a channel to a link. It makes the link if there is none. A channel
// without subscribers is forgotten.
func (l *Listener) assign(name, addr string, client redis.UniversalClient) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ch := l.channels[name]
	if ch == nil || ch.link != nil {
		return
	}
	if len(ch.subscribers) == 0 {
		delete(l.channels, name)
		return
	}
	k := l.links[addr]
	if k == nil {
		k = &link{listener: l, addr: addr, client: client, changed: make(chan struct{}, 1)}
		if !run(l.background, func() { k.run(l.background) }) {
			return
		}
		l.links[addr] = k
	}
	ch.link = k
	k.added = append(k.added, name)
	wake.Signal(k.changed)
}

// ended takes the channels of a link that has ended, and places them again.
func (l *Listener) ended(ctx context.Context, k *link) {
	l.mu.Lock()
	delete(l.links, k.addr)
	var names []string
	for name, ch := range l.channels {
		if ch.link == k {
			ch.link, ch.live = nil, false
			names = append(names, name)
		}
	}
	l.mu.Unlock()
	Reload(l.client)
	if !k.worked {
		clock.Sleep(ctx, reconnectPause)
	}
	l.place(ctx, names...)
}

// check returns the channels of the link without subscribers, which are forgotten, and
// the channels that the server has not confirmed: it refused them, or has given them to
// another server.
func (l *Listener) check(k *link) (left, pending []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, ch := range l.channels {
		switch {
		case ch.link != k:
		case len(ch.subscribers) == 0:
			delete(l.channels, name)
			left = append(left, name)
		case !ch.live:
			pending = append(pending, name)
			if l.cluster != nil {
				ch.link = nil
			}
		}
	}
	return left, pending
}

// confirm notes whether the subscription of a channel works, and says so to its
// subscribers.
func (l *Listener) confirm(k *link, name string, live bool) {
	l.mu.Lock()
	ch := l.channels[name]
	if ch == nil || ch.link != k {
		l.mu.Unlock()
		return
	}
	ch.live = live
	subscribers := ch.subscribers
	l.mu.Unlock()
	if live {
		for _, s := range subscribers {
			s.look()
		}
	}
}

// deliver passes on a message.
func (l *Listener) deliver(name, text string) {
	l.mu.Lock()
	var subscribers []*subscriber
	if ch := l.channels[name]; ch != nil {
		subscribers = ch.subscribers
	}
	l.mu.Unlock()
	for _, s := range subscribers {
		s.message(text)
	}
}
