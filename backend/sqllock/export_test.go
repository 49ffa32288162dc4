package sqllock

import "context"

// Sweep deletes the rows of unused keys at once.
func (b *Backend) Sweep(ctx context.Context) error { return b.sweep(ctx, 0) }
