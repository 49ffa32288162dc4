package wrong

import "context"

type native struct{}

//distlock:lock value:native
func (native) native(ctx context.Context) error { return nil }
