package promlock_test

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/telemetry/promlock"
)

// A program registers one Collector and gives its Hooks to each Locker.
func Example() {
	registry := prometheus.NewRegistry() // or prometheus.DefaultRegisterer
	locks := promlock.New()
	registry.MustRegister(locks)
	locker := distlock.New(memlock.New(), distlock.Config{Hooks: locks.Hooks()})
	defer locker.Close()

	pay := distlock.Opts{Prefix: "shop:", Value: "pay"}
	for _, order := range []string{"7", "8"} {
		if err := locker.Do(context.Background(), order, pay, func(context.Context) error { return nil }); err != nil {
			fmt.Println(err)
		}
	}

	families, err := registry.Gather() // promhttp.HandlerFor serves them
	if err != nil {
		fmt.Println(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			fmt.Print(family.GetName())
			for _, label := range metric.GetLabel() {
				fmt.Printf(" %s=%s", label.GetName(), label.GetValue())
			}
			switch family.GetType() {
			case dto.MetricType_HISTOGRAM:
				fmt.Println(":", metric.GetHistogram().GetSampleCount())
			case dto.MetricType_COUNTER:
				fmt.Println(":", metric.GetCounter().GetValue())
			default:
				fmt.Println(":", metric.GetGauge().GetValue())
			}
		}
	}
	// Output:
	// distlock_held distlock_mode=exclusive distlock_name=shop:pay: 0
	// distlock_hold_duration_seconds distlock_mode=exclusive distlock_name=shop:pay distlock_outcome=released: 2
	// distlock_losses_total distlock_mode=exclusive distlock_name=shop:pay: 0
	// distlock_renewals_total distlock_mode=exclusive distlock_name=shop:pay distlock_outcome=failed: 0
	// distlock_renewals_total distlock_mode=exclusive distlock_name=shop:pay distlock_outcome=renewed: 0
	// distlock_wait_duration_seconds distlock_mode=exclusive distlock_name=shop:pay distlock_outcome=acquired: 2
	// distlock_waiting distlock_mode=exclusive distlock_name=shop:pay: 0
}
