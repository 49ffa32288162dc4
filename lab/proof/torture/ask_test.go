package torture

import (
	"cmp"
	"strconv"
	"time"

	"github.com/distlock-go/distlock"
)

// longestLease is the longest lease that a worker asks for. MinHold stays below it.
const longestLease = 2 * time.Second

func keyName(key int) string { return "torture:" + strconv.Itoa(key) }

func keyNames(keys []int) []string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = keyName(key)
	}
	return names
}

// leaseOf returns the lease of a key: the same for all workers, so that it can be
// handed over.
func (c *config) leaseOf(key int) time.Duration {
	return min(cmp.Or(c.Lease, time.Second)+time.Duration(key)*500*time.Millisecond, longestLease)
}

// ask is a request of a worker, for one key or for a set of keys.
type ask struct {
	keys   []int
	opts   distlock.Opts
	leads  bool // it campaigns for the key with Lead
	healed bool
	giveUp time.Duration // when the worker stops waiting; 0: it waits until it is served
}

// anyKeys returns one key, or sometimes several.
func (w *worker) anyKeys() []int {
	n := 1
	if w.rng.IntN(8) == 0 {
		n = 2 + w.rng.IntN(w.Keys-1)
	}
	return w.rng.Perm(w.Keys)[:n]
}

// askFor chooses the options of a request for the keys.
func (w *worker) askFor(healed bool, keys ...int) ask {
	a := ask{keys: keys, healed: healed, opts: distlock.Opts{
		KeyTimeout: w.leaseOf(keys[0]), RetryInterval: 50 * time.Millisecond,
	}}
	a.leads = len(keys) == 1 && w.rng.IntN(8) == 0
	if !a.leads {
		w.share(&a)
	}
	if w.rng.IntN(cmp.Or(w.Keeps, 15)) == 0 { // short times are more likely
		longest := 1 + w.rng.Int64N(int64(longestLease/time.Millisecond)-1)
		a.opts.MinHold = time.Duration(1+w.rng.Int64N(longest)) * time.Millisecond
	}
	if healed {
		return a
	}
	switch p := w.rng.IntN(100); {
	case p < 10:
		a.opts.RetryCount = 1
	case p < 20:
		a.opts.RetryCount = 3
	case p < 40:
		a.giveUp = 1 + time.Duration(w.rng.Int64N(int64(300*time.Millisecond)))
	}
	return a
}

// share chooses the mode in which the keys are requested, if the backend leaves the
// choice. Key 0 is shared only in sets, so that it is handed over from worker to worker;
// the other keys have readers, or permits, or both.
func (w *worker) share(a *ask) {
	const readers, permits = 1, 2
	kind := []int{0, readers, permits, readers | permits}[a.keys[0]%4]
	if len(a.keys) > 1 {
		kind = readers // each key has permits of its own number
	}
	if !w.Shares || w.rng.IntN(3) == 0 {
		return
	}
	if kind == readers|permits {
		kind = readers + w.rng.IntN(2)
	}
	switch kind {
	case readers:
		a.opts.Mode = distlock.Shared
	case permits:
		a.opts.Permits = 2 + a.keys[0]%2
	}
}
