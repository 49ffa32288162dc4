package test

import (
	"context"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// BenchmarkWrap compares a wrapped function over memlock, without contention, with the
// bare call.
func BenchmarkWrap(b *testing.B) {
	l := distlock.New(memlock.New(), distlock.Config{})
	defer l.Close()
	bare := func(_ context.Context, r payRequest) (int64, error) { return r.OrderID, nil }
	for name, f := range map[string]distlock.Func[payRequest, int64]{
		"bare":   bare,
		"whole":  distlock.Wrap(l, bare, distlock.Opts{Prefix: "shop:", Value: "pay"}),
		"params": distlock.Wrap(l, bare, distlock.Opts{Prefix: "shop:", Value: "pay", ParamLock: true}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			ctx := context.Background()
			for b.Loop() {
				if _, err := f(ctx, payRequest{OrderID: 42}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkContended has many goroutines on one key in one process.
func BenchmarkContended(b *testing.B) {
	l := distlock.New(memlock.New(), distlock.Config{})
	defer l.Close()
	counter := 0
	b.SetParallelism(500)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := l.Do(context.Background(), "k", distlock.Opts{}, func(context.Context) error { counter++; return nil }); err != nil {
				b.Error(err)
			}
		}
	})
}
