package cookbook_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/cookbook"
)

var errOldTerm = errors.New("a later leader has begun")

// outbox is a cookbook.Outbox with mails from 1 to last.
type outbox struct {
	last int

	mu      sync.Mutex
	term    uint64
	done    []int
	refused int
}

func (o *outbox) Begin(_ context.Context, term uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if term <= o.term {
		o.refused++
		return errOldTerm
	}
	o.term = term
	return nil
}

func (o *outbox) Next(ctx context.Context) (cookbook.Mail, error) {
	o.mu.Lock()
	id := len(o.done) + 1
	o.mu.Unlock()
	if id > o.last {
		<-ctx.Done()
	}
	return cookbook.Mail{ID: id}, ctx.Err()
}

func (o *outbox) Finish(_ context.Context, term uint64, m cookbook.Mail) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if term != o.term {
		o.refused++
		return errOldTerm
	}
	o.done = append(o.done, m.ID)
	return nil
}

// check reports whether each mail was finished once, in order.
func (o *outbox) check(t *testing.T) {
	t.Helper()
	want := make([]int, o.last)
	for i := range want {
		want[i] = i + 1
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Equal(o.done, want) {
		t.Errorf("finished: %v", o.done)
	}
}

// delivery takes a second and can be interrupted.
func delivery(ctx context.Context, _ cookbook.Mail) error {
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// candidate runs SendMails until stop is called. Then it must return an error that
// wraps want.
func candidate(t *testing.T, l *distlock.Locker, box cookbook.Outbox, send func(context.Context, cookbook.Mail) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cookbook.SendMails(ctx, l, box, send) }()
	synctest.Wait()
	return func() {
		t.Helper()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("SendMails: %v", err)
		}
	}
}

// TestSendMails: three processes, of which the leader shuts down after each tenth mail.
// Thirty mails take thirty seconds: the next leader begins at once.
func TestSendMails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, processes := newProcesses(t, 3)
		box := &outbox{last: 30}
		var stops []func()
		for _, l := range processes {
			stops = append(stops, candidate(t, l, box, delivery))
		}
		var terms []uint64
		for _, stop := range stops {
			time.Sleep(10 * time.Second)
			synctest.Wait()
			terms = append(terms, box.term)
			if n := len(box.done); n != 10*len(terms) {
				t.Errorf("%d mails at shutdown %d", n, len(terms))
			}
			stop()
		}
		box.check(t)
		if terms[0] >= terms[1] || terms[1] >= terms[2] || box.refused != 0 {
			t.Errorf("terms %v, %d refused", terms, box.refused)
		}
	})
}

// TestSendMailsPaused: a leader is paused during a mail for so long that another
// process leads. What it finishes afterwards is refused.
func TestSendMailsPaused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, processes := newProcesses(t, 2)
		box := &outbox{last: 5}
		stopPaused := candidate(t, processes[0], box, func(_ context.Context, m cookbook.Mail) error {
			if m.ID == 3 {
				time.AfterFunc(time.Second, func() { store.Drop("leader:outbox") }) // as the end of the lease
				time.Sleep(time.Minute)                                             // does not see that its context ends
			}
			return nil
		})
		stop := candidate(t, processes[1], box, delivery)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		box.check(t)
		if box.refused != 1 {
			t.Errorf("%d refused, want 1", box.refused)
		}
		stop()
		stopPaused()
	})
}
