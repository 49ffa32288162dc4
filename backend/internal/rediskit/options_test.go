package rediskit_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

func TestCheckDuration(t *testing.T) {
	rediskit.CheckDuration("redlock", "WithMaxLease", time.Millisecond)
	for d, want := range map[time.Duration]string{
		time.Millisecond - 1: "redlock: WithMaxLease: 999.999µs is less than a millisecond",
		0:                    "redlock: WithMaxLease: 0s is less than a millisecond",
		-time.Second:         "redlock: WithMaxLease: -1s is less than a millisecond",
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("%v: recovered %v, want %q", d, got, want)
				}
			}()
			rediskit.CheckDuration("redlock", "WithMaxLease", d)
		}()
	}
}

func TestFlag(t *testing.T) {
	if rediskit.Flag(true) != "1" || rediskit.Flag(false) != "0" {
		t.Errorf("flags %q and %q", rediskit.Flag(true), rediskit.Flag(false))
	}
}
