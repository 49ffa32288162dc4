package torture

import (
	"context"
	"math/rand/v2"
	"net"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// The directions of a wire.
const (
	requests = iota
	replies
	directions
)

// wire is the simulated network between a process and the server. Each message takes a while,
// and keeps its place in its connection. A closed gate keeps messages until it opens, as a
// network does that sends again what was lost. So a request may arrive after the client has
// closed its connection, and has sent the request once more on another. The weather does that to
// single messages, while those of other connections arrive.
type wire struct {
	dial    func() (net.Conn, error) // to the server
	gates   [directions]*gate
	proxy   *gate // of all wires
	ambush  atomic.Int32
	weather weather

	mu      sync.Mutex
	rng     *rand.Rand
	clients []net.Conn // the ends of the process
	sent    int        // messages
	struck  []struck
	calm    bool // no message takes long any more
	dead    bool
}

func newWire(rng *rand.Rand, weather weather, proxy *gate, dial func() (net.Conn, error)) *wire {
	w := &wire{rng: rng, weather: weather, proxy: proxy, dial: dial}
	for way := range w.gates {
		w.gates[way] = newGate()
	}
	return w
}

// DialContext opens a connection.
func (w *wire) DialContext(context.Context, string, string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return nil, spoilnet.ErrRefused
	}
	server, err := w.dial()
	if err != nil {
		return nil, err
	}
	client, far := net.Pipe()
	w.clients = append(w.clients, client)
	opening := new(atomic.Bool)
	opening.Store(true)
	go w.carry(far, server, requests, opening)
	go w.carry(server, far, replies, opening)
	return client, nil
}

// greeting is the first command of a connection.
var greeting = regexp.MustCompile(`^\*\d+\r\n\$\d+\r\n(?i:hello|client)\r\n`)

// carry passes on what comes from one end, and closes both after what came before the end.
// Greetings and their replies take no time: go-redis waits for them with a mutex, and the time
// of a bubble does not advance while another goroutine waits for that.
func (w *wire) carry(from, to net.Conn, way int, opening *atomic.Bool) {
	type message struct {
		text []byte
		due  time.Time
	}
	messages := make(chan message, 1<<12)
	go func() { // it reads at once: the server does not wait for its clients
		defer close(messages)
		for {
			text := make([]byte, 4096)
			n, err := from.Read(text)
			if n > 0 {
				if way == requests && !greeting.Match(text[:n]) {
					opening.Store(false)
				}
				m := message{text: text[:n]}
				if !opening.Load() {
					lag, cut := w.fate(way)
					m.due = time.Now().Add(lag)
					if cut && way == replies {
						_ = to.Close()
						_ = from.Close()
						return
					} else if cut {
						_ = from.Close()
					}
				}
				messages <- m
			}
			if err != nil {
				return
			}
		}
	}()
	for m := range messages {
		if !m.due.IsZero() {
			time.Sleep(time.Until(m.due))
			w.gates[way].wait()
			w.proxy.wait()
		}
		if _, err := to.Write(m.text); err != nil {
			break
		}
	}
	_ = to.Close()
	_ = from.Close()
}

// fate returns how long a message takes, mostly up to a millisecond more than it is far, and
// whether the connection is cut: behind a request, which still arrives, or before a reply, which
// does not. The n-th message of a wire has the same fate in each run of a seed.
func (w *wire) fate(way int) (lag time.Duration, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent++
	at, part := w.rng.Float64(), w.rng.Float64()
	lag = w.weather.far[way] + 100*time.Microsecond + time.Duration(part*float64(900*time.Microsecond))
	if w.calm {
		return lag, false
	}
	if i := w.weather.strike(w.sent, way, at); i != nil {
		long := time.Duration(part * float64(i.longest))
		w.struck = append(w.struck, struck{ill: i, message: w.sent, at: now(), long: long})
		return lag + long, i.cuts
	}
	return lag, false
}

func (w *wire) delay()  { w.gates[requests].close() }
func (w *wire) deafen() { w.gates[replies].close() }

// What an ambush on a renewal does.
const (
	lurks = 1 + iota
	strikes
)

// lurk waits for a renewal of a lease that was renewed before.
func (w *wire) lurk() { w.ambush.Store(lurks) }

// renews is called before such a renewal is sent. The first one since lurk is answered late, though
// before the caller gives up, after a third of the TTL. No request arrives after that.
func (w *wire) renews(ttl time.Duration) {
	if !w.ambush.CompareAndSwap(lurks, strikes) {
		return
	}
	w.deafen()
	time.AfterFunc(ttl/4, func() {
		if w.ambush.Load() == strikes {
			w.delay()
			w.gates[replies].open()
		}
	})
}

// part keeps all messages.
func (w *wire) part() {
	w.delay()
	w.deafen()
}

// heal ends all faults.
func (w *wire) heal() {
	w.mend()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm = true
}

func (w *wire) mend() {
	w.ambush.Store(0)
	w.gates[requests].open()
	w.gates[replies].open()
}

// cut closes all connections. What was sent arrives.
func (w *wire) cut() {
	w.mu.Lock()
	clients := w.clients
	w.clients = nil
	w.mu.Unlock()
	for _, c := range clients {
		_ = c.Close()
	}
}

// kill closes all connections, and opens no more.
func (w *wire) kill() {
	w.mu.Lock()
	w.dead = true
	w.mu.Unlock()
	w.cut()
}

// gate lets goroutines pass while it is open. They wait on a channel: a mutex would keep the
// time of the bubble from advancing.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // closed while the gate is open
	isOpen bool
}

func newGate() *gate {
	g := &gate{opened: make(chan struct{}), isOpen: true}
	close(g.opened)
	return g
}

func (g *gate) wait() {
	for {
		g.mu.Lock()
		opened, isOpen := g.opened, g.isOpen
		g.mu.Unlock()
		if isOpen {
			return
		}
		<-opened
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isOpen {
		g.opened, g.isOpen = make(chan struct{}), false
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isOpen {
		g.isOpen = true
		close(g.opened)
	}
}
