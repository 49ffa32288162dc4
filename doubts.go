package distlock

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/wake"
)

const (
	// maxDoubts bounds what an outage of the store leaves behind in this process: a few
	// megabytes. Beyond it the oldest is left to the end of its lease.
	maxDoubts = 10_000

	// maxAttempts is how many attempts are in progress at a time. A server that does not
	// answer may have all of them, each for releaseTimeout.
	maxAttempts = 128

	// doubtPause is the least pause before another attempt, and doubtShare what each grant in
	// doubt adds: all together make a thousand attempts a second. A pause is up to twice as
	// long.
	doubtPause = 100 * time.Millisecond
	doubtShare = time.Millisecond
)

// doubts are the grants of which something may be left in the store. They are tried again
// until that is settled, or until the lease has run out in any case. When the Locker is closed
// and no lease is held, there is a last attempt for each at once. While there are any, one
// goroutine begins the attempts.
type doubts struct {
	life   *lifetime
	settle func(*doubt) bool // makes an attempt
	wake   chan struct{}
	ctx    context.Context //nolint:containedctx // ends with the Locker

	mu       sync.Mutex
	all      []*doubt // the oldest first
	attempts int      // in progress
	running  bool
	last     bool // the Locker is closed, and no lease is held
}

// doubt is a grant that is to be released, or to be kept until a time.
type doubt struct {
	grant driver.Grant
	until time.Time // the key is kept until then; zero: it is released
	end   time.Time // of the attempts

	next   time.Time // attempt
	trying bool
	failed bool // an attempt has
}

// add adds a doubt. Its caller has called begin of the lifetime, and not done.
func (q *doubts) add(d *doubt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.all) == maxDoubts {
		q.all = slices.Delete(q.all, 0, 1)
	}
	q.all = append(q.all, d)
	if q.running {
		wake.Signal(q.wake)
		return
	}
	q.running = true
	q.life.background(q.run)
}

// run begins attempts until nothing is in doubt, or until the Locker ends.
func (q *doubts) run() {
	idle := q.life.idle
	for {
		pause, ok := q.begin(time.Now(), idle == nil)
		if !ok {
			return
		}
		select {
		case <-time.After(pause):
		case <-q.wake:
		case <-idle:
			idle = nil
		case <-q.ctx.Done():
			return
		}
	}
}

// begin begins the attempts that are due; the last ones are. It returns when to call it
// again, or false if nothing is in doubt any more.
func (q *doubts) begin(now time.Time, last bool) (pause time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = last
	q.all = slices.DeleteFunc(q.all, func(d *doubt) bool { return !d.trying && !now.Before(d.end) })
	pause = doubtPause
	for _, d := range slices.Backward(q.all) { // an old one may be for a server that does not answer
		switch {
		case d.trying:
		case !last && d.next.After(now):
			pause = min(pause, d.next.Sub(now))
		case q.attempts < maxAttempts:
			d.trying = true
			q.attempts++
			go q.attempt(d, last)
		}
	}
	q.running = len(q.all) > 0
	return max(pause, doubtPause/10), q.running // if there are many, several at a time
}

// attempt makes one attempt. If one settles a doubt after others did not, the store answers
// again, and all are tried at once.
func (q *doubts) attempt(d *doubt, last bool) {
	settled := q.settle(d)
	q.mu.Lock()
	defer q.mu.Unlock()
	if settled || q.last || q.attempts == maxAttempts {
		defer wake.Signal(q.wake)
	}
	q.attempts--
	d.trying = false
	if i := slices.Index(q.all, d); i >= 0 && (settled || last) {
		q.all = slices.Delete(q.all, i, i+1)
	}
	now := time.Now()
	if settled && d.failed {
		for _, o := range q.all {
			o.next, o.failed = now, false
		}
	}
	d.failed = true
	pause := doubtPause + time.Duration(len(q.all))*doubtShare
	if d.next = now.Add(pause + rand.N(pause)); d.next.After(d.end) {
		d.next = d.end
	}
}
