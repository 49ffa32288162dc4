package localqueue_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/compat"
	"github.com/distlock-go/distlock/internal/localqueue"
)

var (
	writer    = compat.Class{TTL: time.Second}
	reader    = compat.Class{TTL: time.Second, Sharing: driver.Sharing{Mode: driver.Shared}}
	semaphore = compat.Class{TTL: time.Second, Sharing: driver.Sharing{Permits: 2}}
)

// lease is a lease that agrees to be passed on as the test says.
type lease struct {
	class    compat.Class
	refuse   bool // Transfer and Attach
	pending  chan struct{}
	transfer int    // how often it was passed on
	attached int    // how often another reader came to share it
	ticket   uint64 // of the caller that is to have it next
	newest   uint64 // of all that have come
}

func (l *lease) Class() compat.Class { return l.class }

func (l *lease) Transfer(_ time.Time, ticket, newest uint64) (bool, <-chan struct{}) {
	if l.refuse {
		return false, l.pending
	}
	l.transfer++
	l.ticket, l.newest = ticket, newest
	return true, nil
}

func (l *lease) Attach(_ time.Time, ticket uint64) bool {
	if l.refuse {
		return false
	}
	l.attached++
	l.ticket = ticket
	return true
}

type (
	queue  = localqueue.Queue[*lease]
	waiter = localqueue.Waiter[*lease]
)

func newQueue() *queue { return localqueue.New[*lease](100, 100) }

// enter enters for a caller that may have to wait.
func enter(t *testing.T, q *queue, key string, c compat.Class) (*waiter, *lease) {
	t.Helper()
	w, l, err := q.Enter(key, c, 100)
	if err != nil {
		t.Fatalf("Enter: %v", err)
	}
	return w, l
}

// admitted enters for a caller that must not have to wait, and returns what it shares.
func admitted(t *testing.T, q *queue, key string, c compat.Class) *lease {
	t.Helper()
	w, l := enter(t, q, key, c)
	if w != nil {
		t.Fatal("has to wait")
	}
	return l
}

// waits enters for a caller that must have to wait.
func waits(t *testing.T, q *queue, key string, c compat.Class) *waiter {
	t.Helper()
	w, _ := enter(t, q, key, c)
	if w == nil {
		t.Fatal("need not wait")
	}
	return w
}

// turn returns w's turn if it has come.
func turn(q *queue, w *waiter) (localqueue.Turn[*lease], bool) {
	if !localqueue.HasTurn(w) {
		return localqueue.Turn[*lease]{}, false
	}
	return q.Wait(w, nil, nil)
}

func wantTurn(t *testing.T, q *queue, w *waiter, want *lease) {
	t.Helper()
	switch got, ok := turn(q, w); {
	case !ok:
		t.Fatal("the turn has not come")
	case got.Closed:
		t.Fatal("closed")
	case got.Lease != want:
		t.Fatalf("got %v, want %v", got.Lease, want)
	}
}

func wantEmpty(t *testing.T, q *queue) {
	t.Helper()
	if keys, waiting := q.Counts(); keys != 0 || waiting != 0 {
		t.Errorf("%d keys and %d waiters are left", keys, waiting)
	}
}

// A place counts the waiters in front, and waiters that have left until the first is served.
func TestPlace(t *testing.T) {
	t.Parallel()
	q := newQueue()
	admitted(t, q, "k", writer)
	var line []*waiter
	var tickets []uint64
	for range 5 {
		w := waits(t, q, "k", writer)
		line, tickets = append(line, w), append(tickets, w.Ticket())
	}
	want := func(places ...int) {
		t.Helper()
		for i, place := range places {
			if got, _ := q.Place("k", tickets[i]); got != place {
				t.Errorf("waiter %d is at place %d, want %d", i, got, place)
			}
		}
	}
	want(1, 2, 3, 4, 5)
	q.Cancel("k", line[2])
	want(1, 2)
	if p, n := q.Place("k", tickets[4]); p != 4 || n != 4 {
		t.Errorf("the last of four is at place %d", p)
	}
	q.Exit("k", false)
	wantTurn(t, q, line[0], nil)
	want(0, 1)
	if p, _ := q.Place("k", tickets[3]); p != 3 { // it is the second, and one between has left
		t.Errorf("the last but one is at place %d", p)
	}
	if p, n := q.Place("other", tickets[4]); p != 0 || n != 0 {
		t.Errorf("place %d without a queue", p)
	}
}

func TestCancelWhileTheTurnComes(t *testing.T) {
	t.Parallel()
	q := newQueue()
	admitted(t, q, "k", writer)
	w := waits(t, q, "k", writer)
	l := &lease{class: writer}
	if ok, _ := q.HandOver("k", l, time.Now()); !ok {
		t.Fatal("not handed over")
	}
	got, late := q.Cancel("k", w)
	if !late || got.Lease != l || got.Closed {
		t.Errorf("Cancel = %+v, %v, want the lease that was handed over", got, late)
	}
	behind := waits(t, q, "k", writer) // the caller is admitted
	q.Exit("k", false)
	wantTurn(t, q, behind, nil)
}

func TestBackendErr(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		admitted(t, q, "k", writer)
		broken := errors.New("broken pipe")
		q.SetBackendErr("k", broken, time.Now().Add(3*time.Second))
		for _, want := range []error{broken, broken, broken, nil} {
			if _, err := q.BackendErr("k", time.Now()); err != want { //nolint:errorlint // the same value
				t.Errorf("%v, want %v", err, want)
			}
			time.Sleep(time.Second)
		}
		q.SetBackendErr("k", broken, time.Now().Add(time.Hour))
		q.Exit("k", false)
		if _, err := q.BackendErr("k", time.Now()); err != nil {
			t.Errorf("%v after the last caller has left", err)
		}
	})
}
