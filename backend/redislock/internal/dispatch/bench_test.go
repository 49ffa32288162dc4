package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
)

// BenchmarkDo measures what a request costs beside Send, which does nothing, or passes the
// batch to another goroutine and back.
func BenchmarkDo(b *testing.B) {
	for _, roundTrip := range []bool{false, true} {
		for _, callers := range []int{1, 8, 64, 1000} {
			b.Run(fmt.Sprintf("roundTrip=%t/%d", roundTrip, callers), func(b *testing.B) {
				benchmarkDo(b, roundTrip, callers)
			})
		}
	}
}

func benchmarkDo(b *testing.B, roundTrip bool, callers int) {
	there, back := make(chan int), make(chan int)
	defer close(there)
	go func() {
		for n := range there {
			back <- n
		}
	}()
	d := dispatch.New(dispatch.Config[int, int]{
		CanInline: true,
		Timeout:   time.Minute,
		Run:       func(f func()) { go f() },
		Slow:      func() {},
		NoAnswer:  func() error { return errSilent },
		Send: func(_ context.Context, _ bool, reqs []int) []dispatch.Result[int] {
			if roundTrip {
				there <- 0
				<-back
			}
			results := make([]dispatch.Result[int], len(reqs)) // the only allocation for a batch
			now := time.Now()
			for i, n := range reqs {
				results[i] = dispatch.Result[int]{Value: n, Sent: now, OutcomeKnown: true}
			}
			return results
		},
	})
	b.ReportAllocs()
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for range b.N / callers {
				if r := d.Do(context.Background(), i, true); r.Value != i {
					b.Errorf("%+v", r)
					return
				}
			}
		})
	}
	all.Wait()
}
