package weave_test

import (
	"context"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/weave"
)

// BenchmarkCall compares generated and woven code with a Site that the program makes.
func BenchmarkCall(b *testing.B) {
	const text = "Bench\nprefix:shop:\nvalue:bench\npart:order\nkeyTimeout:10s"
	o := distlock.Opts{Prefix: "shop:", Value: "bench", ParamLock: true, KeyTimeout: 10e9}
	weave.Declare(text, nil, nil)
	l := distlock.New(memlock.New(), distlock.Config{})
	defer l.Close()
	site, own := distlock.NewSite("Bench", o), l.Site(o)
	ctx, run := context.Background(), func(context.Context) error { return nil }
	for _, way := range []struct {
		name string
		call func(order int64) error
	}{
		{"by-hand", func(order int64) error { return own.Do(ctx, order, run) }},
		{"generated", func(order int64) error { return site.On(l).Do(ctx, order, run) }},
		{"woven", func(order int64) error { return pay(ctx, l, text, order, run) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			var order int64
			for b.Loop() {
				order++
				if err := way.call(order); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
