package caslock

import (
	"context"
	"errors"
	"fmt"
)

// Try checks that conditional writes of a store are atomic: of several at the same time, one
// must succeed. Some copies of a store ignore the condition, or look at it before they write.
// A pass is no proof. Try writes a cell that no lock uses.
func Try(ctx context.Context, s Store) error {
	const writers, key = 8, linePrefix + "try"
	value, version, err := s.Load(ctx, key)
	if err != nil {
		return err
	}
	r, _ := parse(value)
	results, won := make(chan error, writers), 0
	for range writers {
		r.step()
		mine := r.encode()
		go func() {
			_, err := s.Swap(ctx, key, version, mine)
			results <- err
		}()
	}
	for range writers {
		if swapErr := <-results; swapErr == nil {
			won++
		} else if !errors.Is(swapErr, ErrChanged) {
			err = swapErr
		}
	}
	if won > 1 {
		return fmt.Errorf("%d of %d writes under the same condition succeeded: the store's conditional writes are not atomic, and it cannot keep locks", won, writers)
	}
	return err
}
