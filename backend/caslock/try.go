package caslock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Try checks that conditional writes of a store are atomic: of several at the same time, one
// must succeed. Some copies of a store ignore the condition, or look at it before they write.
// A pass is no proof. Try writes a cell that no lock uses.
func Try(ctx context.Context, s Store) error {
	const writers, key = 8, linePrefix + "try"
	for range 3 {
		value, version, err := s.Load(ctx, key)
		if err != nil {
			return err
		}
		r, _ := parse(value)
		var mu sync.Mutex
		var all sync.WaitGroup
		won := 0
		for i := range writers {
			mine := record{Count: max(r.Count, uint64(time.Now().UnixMicro())) + uint64(i) + 1}
			all.Go(func() {
				_, swapErr := s.Swap(ctx, key, version, mine.encode())
				mu.Lock()
				defer mu.Unlock()
				if swapErr == nil {
					won++
				} else if !errors.Is(swapErr, ErrChanged) {
					err = swapErr
				}
			})
		}
		all.Wait()
		switch {
		case won > 1:
			return fmt.Errorf("%d of %d writes under the same condition succeeded: the store's conditional writes are not atomic, and it cannot keep locks", won, writers)
		case err != nil:
			return err
		case won == 1:
			return nil
		} // another process tries at the same time
	}
	return nil
}
