package locktest

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

// inTurn makes waiters of all processes queue up for a key that has the given holders, and
// releases the holders in order. Each waiter must get the key as soon as all before it have
// it and Admits says so, and no sooner. A letter is a writer (w), a reader (r), or the holder of a
// permit (p).
func (f *fixture) inTurn(holders, waiters string) {
	f.Helper()
	asks := map[rune]func(string, time.Duration) driver.Request{'w': f.request, 'r': f.reader, 'p': f.permit}
	key := f.key()
	var held []driver.Grant
	for _, letter := range holders {
		held = append(held, f.try(asks[letter](key, long)))
	}
	processes := []*fixture{f, f.last()}
	var queue []*waiter
	for i, letter := range waiters {
		queue = append(queue, processes[i%2].queueUp(asks[letter](key, long)))
	}
	for len(held) > 0 {
		for _, w := range queue {
			w.mustWait(f)
			f.busy(f.asking(key, w.request.Sharing())) // a newcomer
		}
		released := held[0]
		f.release(released)
		held = held[1:]
		for len(queue) > 0 && (len(held) == 0 || held[0].Sharing().Admits(len(held), queue[0].request.Sharing())) {
			next := queue[0].served(f)
			f.mustRise(released, next)
			held, queue = append(held, next), queue[1:]
		}
	}
	f.free(key)
}
