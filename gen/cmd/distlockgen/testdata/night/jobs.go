package night

import "context"

type jobs interface {
	//distlock:lock value:clean retryCount:1 maxWait:0s
	Clean(ctx context.Context) error
}
