package around

import "context"

//distlock:lock value:old keyTimeout:3s
func (s *service) old(ctx context.Context) error { return nil }
