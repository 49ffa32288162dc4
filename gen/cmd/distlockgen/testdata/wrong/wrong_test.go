package wrong

import "context"

//distlock:lock value:a
func inATest(ctx context.Context) error { return nil }
