package torture

import (
	"context"
	"sync"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// witnessKey is the context key for the witness of an acquisition.
type witnessKey struct{}

// witness records what the hooks report about an acquisition.
type witness struct {
	resigned func(err error) // called when a leader has resigned

	mu   sync.Mutex
	keys map[string]bool // the keys it has, and whether each came from a holder in this process
}

func newWitness() *witness { return &witness{keys: make(map[string]bool)} }

// hooks reports events to the witness in the context.
func hooks() distlock.Hooks {
	of := func(ctx context.Context) (*witness, bool) {
		w, found := ctx.Value(witnessKey{}).(*witness)
		return w, found
	}
	return distlock.Hooks{
		Event: testkit.On{
			distlock.Acquired: func(ctx context.Context, i distlock.Event) {
				if w, found := of(ctx); found {
					w.mu.Lock()
					w.keys[i.Key] = i.HandedOver
					w.mu.Unlock()
				}
			},
			distlock.Released: func(ctx context.Context, i distlock.Event) {
				if w, found := of(ctx); found {
					w.mu.Lock()
					delete(w.keys, i.Key)
					w.mu.Unlock()
					if i.Leader {
						w.resigned(i.Err)
					}
				}
			},
		}.Event,
	}
}

// held returns the number of keys that the acquisition has.
func (w *witness) held() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.keys)
}

// handedOver reports whether the key came from a holder in the same process.
func (w *witness) handedOver(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys[key]
}
