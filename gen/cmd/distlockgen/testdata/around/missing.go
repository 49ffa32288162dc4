package around

import "context"

//distlock:lock value:missing
func (s *service) missing(ctx context.Context) error { return nil }
