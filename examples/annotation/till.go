package shop

import (
	"context"

	"github.com/distlock-go/distlock"
)

// Till is a minimal type with a locked method.
type Till struct {
	locker *distlock.Locker
	taken  int
}

//distlock:lock prefix:shop: value:till param:till
func (t *Till) take(_ context.Context, till string) error {
	t.taken += len(till)
	return nil
}
