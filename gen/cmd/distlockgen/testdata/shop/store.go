package shop

import (
	"context"
	. "io"
)

//distlock:lock value:read key:EOF.Error()
func read(ctx Ctx, from Reader) (Writer, error) { return nil, nil }

type Ctx = context.Context

type cache[K comparable] interface {
	Closer

	//distlock:lock value:fill paramLock as:Cache
	Fill(context.Context, K) error

	//distlock:lock prefix:shop: value:drop key:len(name)
	Drop(_ context.Context, name string) (Receipt, error)

	Size() int
}

type jobs interface {
	//distlock:lock value:clean retryCount:1 reentry:none
	Clean(Ctx) error
}
