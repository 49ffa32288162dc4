package shop

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

// pair is one method in two forms: generated, and by hand with Call.
type pair struct{ generated, byHand func() error }

func pairs(ctx context.Context, l *distlock.Locker) map[string]pair {
	s := NewService(l)
	q := &Till{locker: l}
	sku := strings.Clone("tea") // not a constant: a constant key does not allocate
	shelf := &Shelf[string, int]{locker: l, things: map[string]int{}}
	whole := distlock.Opts{Prefix: "shop:"}
	stock := wiring.Bind(l, distlock.Opts{Prefix: "shop:", Value: "till", ParamLock: true})
	things := wiring.Bind(l, distlock.Opts{Prefix: "shop:", Value: "shelf", ParamLock: true})
	return map[string]pair{
		"whole": {
			func() error { return s.Raise(ctx, "tea", 1) },
			func() error {
				_, err := distlock.Call(ctx, l, "prices", whole, func(ctx context.Context) (struct{}, error) {
					return struct{}{}, s.raise(ctx, "tea", 1)
				})
				return err
			},
		},
		"param": {
			func() error { return q.Take(ctx, sku) },
			func() error {
				key, err := stock.Key(sku)
				if err != nil {
					return err
				}
				_, err = distlock.Call(ctx, l, key, distlock.Opts{}, func(ctx context.Context) (struct{}, error) {
					return struct{}{}, q.take(ctx, sku)
				})
				return err
			},
		},
		"generic, with a result": {
			func() error { _, err := shelf.Swap(ctx, sku, 1); return err },
			func() error {
				key, err := things.Key(sku)
				if err != nil {
					return err
				}
				_, err = distlock.Call(ctx, l, key, distlock.Opts{}, func(ctx context.Context) (int, error) {
					return shelf.swap(ctx, sku, 1)
				})
				return err
			},
		},
	}
}

// Generated code does not allocate more than a Call by hand.
func TestNoExtraAllocations(t *testing.T) {
	l := distlock.New(testkit.Instant{}, distlock.Config{})
	defer l.Close()
	for name, p := range pairs(t.Context(), l) {
		count := func(f func() error) float64 {
			return testing.AllocsPerRun(200, func() {
				if err := f(); err != nil {
					t.Error(err)
				}
			})
		}
		// Pools drop entries at times, and under the race detector on purpose: only a
		// difference in every run counts.
		var generated, byHand float64
		for range 20 {
			if generated, byHand = count(p.generated), count(p.byHand); generated <= byHand {
				break
			}
		}
		t.Logf("%s: %v allocations, %v by hand", name, generated, byHand)
		if generated > byHand {
			t.Errorf("%s: %v allocations, %v by hand", name, generated, byHand)
		}
	}
}

// BenchmarkGenerated compares generated methods with a Call by hand.
func BenchmarkGenerated(b *testing.B) {
	l := distlock.New(testkit.Instant{}, distlock.Config{})
	defer l.Close()
	for name, p := range pairs(context.Background(), l) {
		for who, f := range map[string]func() error{"generated": p.generated, "by hand": p.byHand} {
			b.Run(name+"/"+who, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkOverhead measures both in turn, so that a noisy machine affects both, and
// reports how much slower the quickest batch of generated calls is than the quickest
// batch by hand: extra-ns/op, less than 0 if it is quicker.
func BenchmarkOverhead(b *testing.B) {
	const batch = 200
	l := distlock.New(testkit.Instant{}, distlock.Config{})
	defer l.Close()
	for name, p := range pairs(context.Background(), l) {
		b.Run(name, func(b *testing.B) {
			least := [2]time.Duration{time.Hour, time.Hour}
			for b.Loop() {
				for i, f := range [2]func() error{p.generated, p.byHand} {
					start := time.Now()
					for range batch {
						if err := f(); err != nil {
							b.Fatal(err)
						}
					}
					least[i] = min(least[i], time.Since(start))
				}
			}
			b.ReportMetric(float64(least[0]-least[1])/batch, "extra-ns/op")
			b.ReportMetric(float64(least[0])/batch, "ns/generated")
		})
	}
}
