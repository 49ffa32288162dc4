package caslock

import (
	"context"
	"errors"
)

// Try checks that a store refuses a write whose condition is not met: some copies of a store
// ignore it. A pass is no proof. Try writes a cell that no lock uses.
func Try(ctx context.Context, s Store) error {
	const key = linePrefix + "try"
	value, version, err := s.Load(ctx, key)
	if err != nil {
		return err
	}
	r, _ := parse(value)
	for range 2 { // both under the same condition
		r.step()
		if _, err = s.Swap(ctx, key, version, r.encode()); err != nil {
			break // the first may meet another process
		}
	}
	switch {
	case err == nil:
		return errors.New("two writes under the same condition succeeded: the store ignores it, and cannot keep locks")
	case errors.Is(err, ErrChanged):
		return nil
	default:
		return err
	}
}
