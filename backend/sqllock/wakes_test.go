package sqllock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// script is a Listener whose connections do what a test says.
type script struct {
	connect func(ctx context.Context, n int, listening func(), heard func(string)) error
	opened  []time.Time
}

func (s *script) Listen(ctx context.Context, _ string, listening func(), heard func(string)) error {
	s.opened = append(s.opened, time.Now())
	return s.connect(ctx, len(s.opened), listening, heard)
}

var errDown = errors.New("connection refused")

// receives reports whether there is a wake-up when nothing else happens any more.
func receives(turn <-chan driver.Grant) bool {
	synctest.Wait()
	select {
	case _, open := <-turn:
		return open
	default:
		return false
	}
}

// A connection that fails is opened again, after longer and longer pauses, and soon
// again after one that worked. Each new connection wakes all waiters.
func TestWakesConnectAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const works = 12
		broken := make(chan struct{})
		s := &script{connect: func(ctx context.Context, n int, listening func(), _ func(string)) error {
			if n < works || n == works+1 {
				return errDown
			}
			listening()
			select {
			case <-broken:
				return errDown
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		w := newWakes(s)
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go w.listen(ctx)
		if synctest.Wait(); len(s.opened) != 0 {
			t.Error("it connects without a waiter")
		}
		turn := w.join("a").turn
		for start := time.Now(); !w.works.Load(); synctest.Wait() {
			if time.Since(start) > time.Hour {
				t.Fatal("it does not connect again")
			}
			time.Sleep(time.Millisecond)
		}
		for i := 1; i < works; i++ {
			pause, most := s.opened[i].Sub(s.opened[i-1]), min(minPause<<(i-1), maxPause)*3/2
			if pause < most/3 || pause > most {
				t.Errorf("pause %d lasts %v, the most is %v", i, pause, most)
			}
		}
		if !receives(turn) {
			t.Error("the first connection wakes no one")
		}
		broken <- struct{}{}
		synctest.Wait()
		if w.works.Load() || receives(turn) {
			t.Error("a broken connection works")
		}
		time.Sleep(5 * minPause)
		if !w.works.Load() || !receives(turn) {
			t.Error("after one that worked, the next connection comes late, or wakes no one")
		}
	})
}

// What happens in this process wakes its waiters without a listener. A waiter lasts
// until it is released, or for a minute without a look, and then its Turn has to be
// asked for again.
func TestWakesInProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWakes(nil)
		a, b := w.join("a"), w.join("b")
		a.begin()
		b.begin()
		w.heard(driver.Fingerprint("b"))
		w.heard(driver.Fingerprint("c"))
		if receives(a.turn) || !receives(b.turn) {
			t.Error("the wrong waiter is woken")
		}
		w.leave("a")
		time.Sleep(micros(deadAfter) - time.Second)
		b.begin()
		time.Sleep(2 * time.Second)
		if w.find("a") != nil || w.find("b") != b {
			t.Error("a waiter ends when another one should")
		}
		time.Sleep(micros(deadAfter))
		for range b.turn {
			continue // until it is closed
		}
		if w.find("b") != nil || w.join("b") == b {
			t.Error("a waiter that does not look lasts")
		}
	})
}
