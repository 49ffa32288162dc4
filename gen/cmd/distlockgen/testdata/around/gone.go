package around

import "context"

// gone has lost its comment.
func (s *service) gone(ctx context.Context) error { return nil }
