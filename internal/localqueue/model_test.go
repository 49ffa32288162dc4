package localqueue_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/compat"
	"github.com/distlock-go/distlock/internal/localqueue"
)

var classes = []compat.Class{
	writer, writer, {TTL: time.Hour},
	reader, reader, {TTL: time.Second, Sharing: reader.Sharing, Alone: true},
	semaphore, {TTL: time.Second, Sharing: driver.Sharing{Permits: 3}},
}

// client is one caller in the model.
type client struct {
	key       string
	class     compat.Class
	w         *waiter
	lease     *lease // handed over, to share, or acquired
	acquiring bool   // a reader that asks the store
	ticket    uint64 // 0: it did not wait
}

// model does what a Queue does, step by step and in the simplest way, and compares.
type model struct {
	*testing.T

	q                *queue
	maxKeys, maxAll  int
	admitted, queued map[string][]*client
	shared           map[string]*lease
	last             map[string]driver.Sharing // of the client that was admitted last
	tickets          map[string]uint64         // of the waiter that came last
	steps            []string
}

func (m *model) step(format string, args ...any) {
	m.steps = append(m.steps, fmt.Sprintf(format, args...))
}

func (m *model) fail(format string, args ...any) {
	m.Helper()
	m.Fatalf("%s\nafter %q", fmt.Sprintf(format, args...), m.steps)
}

func (m *model) waiting() (n int) {
	for _, cs := range m.queued {
		n += len(cs)
	}
	return n
}

// fits reports whether c, as the first in the queue, is admitted, and what it shares.
func (m *model) fits(c *client) (l *lease, ok bool) {
	with := m.admitted[c.key]
	if l := m.shared[c.key]; l != nil && l.class == c.class && !l.refuse {
		return l, true
	}
	if slices.ContainsFunc(with, func(o *client) bool { return o.acquiring }) {
		return nil, false
	}
	return nil, m.last[c.key].Admits(len(with), c.class.Sharing)
}

func (m *model) admit(c *client, l *lease) {
	c.lease, c.acquiring = l, l == nil && c.class.Sharing.Mode == driver.Shared
	m.admitted[c.key] = append(m.admitted[c.key], c)
	if l == nil {
		m.last[c.key] = c.class.Sharing
	}
}

// advance admits who need not wait any more, and compares every waiter.
func (m *model) advance(key string) {
	m.Helper()
	if len(m.admitted[key]) == 0 {
		delete(m.admitted, key)
		delete(m.shared, key)
		delete(m.last, key)
	}
	for len(m.queued[key]) > 0 {
		c := m.queued[key][0]
		l, ok := m.fits(c)
		if !ok {
			break
		}
		m.queued[key] = m.queued[key][1:]
		m.admit(c, l)
		if got, ok := turn(m.q, c.w); !ok || got.Lease != l || got.Closed {
			m.fail("a waiter got %+v, %v, want %v", got, ok, l)
		}
	}
	for _, c := range m.queued[key] {
		if got, ok := turn(m.q, c.w); ok {
			m.fail("a waiter got %+v, want nothing", got)
		}
	}
	if len(m.admitted[key]) == 0 {
		delete(m.tickets, key)
	}
	if n := m.q.Newest(key); n != m.tickets[key] {
		m.fail("the newest ticket is %d, want %d", n, m.tickets[key])
	}
	if keys, waiting := m.q.Counts(); keys != len(m.admitted) || waiting != m.waiting() {
		m.fail("%d keys, %d waiters; want %d, %d", keys, waiting, len(m.admitted), m.waiting())
	}
}

func (m *model) enter(c *client, most int) {
	m.Helper()
	m.step("enter %s %v most %d", c.key, c.class, most)
	w, l, err := m.q.Enter(c.key, c.class, most)
	with, queue := m.admitted[c.key], m.queued[c.key]
	shared, ok := m.fits(c)
	writers := slices.ContainsFunc(queue, func(o *client) bool { return o.class.Sharing.Mode != driver.Shared })
	says := func(limit string) bool { return err != nil && strings.HasSuffix(err.Error(), limit) }
	switch {
	case len(with) == 0 && len(m.admitted) >= m.maxKeys:
		if !says(" keys in use, which is the limit") {
			m.fail("MaxKeys: %v", err)
		}
	case len(queue) == 0 && ok:
		if w != nil || l != shared || err != nil {
			m.fail("Enter = %v, %v, %v, want to be admitted with %v", w, l, err, shared)
		}
		if l != nil && l.ticket != m.tickets[c.key]+1 {
			m.fail("a reader that comes has ticket %d, want %d", l.ticket, m.tickets[c.key]+1)
		}
		m.admit(c, l)
	case most == 0 && !writers && c.class.Sharing.Mode == driver.Shared && m.last[c.key].Admits(len(with), c.class.Sharing):
		if w != nil || l != nil || err != nil {
			m.fail("Enter = %v, %v, %v, want to be admitted aside", w, l, err)
		}
		m.admit(c, nil)
	case most == 0:
		if !errors.Is(err, localqueue.ErrBusy) {
			m.fail("busy: %v", err)
		}
	case len(queue) >= most:
		if !says(" wait for the key (Config.MaxWaiters)") {
			m.fail("MaxWaitersOfKey: %v", err)
		}
	case m.waiting() >= m.maxAll:
		if !says(" wait (Config.MaxWaiters)") {
			m.fail("MaxWaiters: %v", err)
		}
	default:
		if w == nil || err != nil {
			m.fail("Enter = %v, %v, %v, want to wait", w, l, err)
		}
		c.w = w
		m.queued[c.key] = append(queue, c)
		m.tickets[c.key]++
		if c.ticket = w.Ticket(); c.ticket != m.tickets[c.key] {
			m.fail("ticket %d, want %d", c.ticket, m.tickets[c.key])
		}
	}
	m.advance(c.key)
}

// leave ends c's admission: it hands over what it has, if it can, or exits.
func (m *model) leave(c *client, refuse bool) {
	m.Helper()
	at := slices.Index(m.admitted[c.key], c)
	m.admitted[c.key] = slices.Delete(m.admitted[c.key], at, at+1)
	if l := c.lease; l != nil && !c.class.Shares() {
		m.step("hand over %s, refused %v", c.key, refuse)
		l.refuse = refuse
		ok, _ := m.q.HandOver(c.key, l, time.Now())
		queue := m.queued[c.key]
		if want := len(queue) > 0 && queue[0].class == l.class && !refuse; ok != want {
			m.fail("handed over: %v, want %v", ok, want)
		}
		if ok {
			next := queue[0]
			m.queued[c.key] = queue[1:]
			next.lease = l
			m.admitted[c.key] = append(m.admitted[c.key], next)
			if got, ok := turn(m.q, next.w); !ok || got.Lease != l {
				m.fail("the next got %+v, %v", got, ok)
			}
			if l.ticket != next.ticket || l.newest != m.tickets[c.key] {
				m.fail("transferred to ticket %d of %d, want %d of %d", l.ticket, l.newest, next.ticket, m.tickets[c.key])
			}
			m.advance(c.key)
			return
		}
	}
	m.step("exit %s", c.key)
	m.q.Exit(c.key, c.acquiring)
	m.advance(c.key)
}

// acquire gives c a lease of its own, as the store does.
func (m *model) acquire(c *client, refuse bool) {
	m.Helper()
	m.step("acquired %s, refuses %v", c.key, refuse)
	c.lease = &lease{class: c.class, refuse: refuse}
	if !c.acquiring {
		return
	}
	c.acquiring = false
	if c.class.Shares() {
		m.shared[c.key] = c.lease
	}
	m.q.Acquired(c.key, c.lease)
	m.advance(c.key)
}

func (m *model) cancel(c *client) {
	m.Helper()
	m.step("cancel %s %v", c.key, c.class)
	m.queued[c.key] = slices.DeleteFunc(m.queued[c.key], func(o *client) bool { return o == c })
	if got, late := m.q.Cancel(c.key, c.w); late {
		m.fail("a waiter that gives up got %+v", got)
	}
	m.advance(c.key)
}

// TestQueueIsTheModel makes random calls, and compares every answer, every turn and
// every count with the model's.
func TestQueueIsTheModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			m := &model{
				T: t, maxKeys: 2, maxAll: 8, admitted: map[string][]*client{}, queued: map[string][]*client{},
				shared: map[string]*lease{}, last: map[string]driver.Sharing{}, tickets: map[string]uint64{},
			}
			m.q = localqueue.New[*lease](m.maxKeys, m.maxAll)
			m.step("seed %d", seed)
			for range 300 {
				key := string(rune('a' + r.IntN(3)))
				with, queue := m.admitted[key], m.queued[key]
				switch n := r.IntN(10); {
				case n < 5:
					m.enter(&client{key: key, class: classes[r.IntN(len(classes))]}, r.IntN(7))
				case n < 6 && len(queue) > 0:
					m.cancel(queue[r.IntN(len(queue))])
				case n < 8 && len(with) > 0:
					if c := with[r.IntN(len(with))]; c.lease == nil {
						m.acquire(c, r.IntN(4) == 0)
					}
				case len(with) > 0:
					m.leave(with[r.IntN(len(with))], r.IntN(3) == 0)
				}
			}
			m.q.Close()
			if _, _, err := m.q.Enter("a", writer, 1); !errors.Is(err, localqueue.ErrClosed) {
				m.fail("Enter of a closed queue: %v", err)
			}
			for key := range m.queued {
				for _, c := range m.queued[key] {
					if got, ok := turn(m.q, c.w); !ok || !got.Closed {
						m.fail("a waiter got %+v, %v when the queue was closed", got, ok)
					}
				}
				m.queued[key] = nil
			}
			for key := range m.admitted {
				for len(m.admitted[key]) > 0 {
					m.leave(m.admitted[key][0], true)
				}
			}
			wantEmpty(t, m.q)
		})
	}
}
