package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/distlock-go/distlock/internal/redistest"
	"github.com/distlock-go/distlock/internal/testkit"
)

// TestRealOutage kills the shop's Redis and restarts it.
func TestRealOutage(t *testing.T) {
	t.Parallel() // most of its time is waiting
	redis := redistest.Start(t)
	s := startService(t, "-backend", "redis://"+redis.Addr()+"/0")
	c := newClient(t, s.addresses)
	healthz := func(want int) func() bool {
		return func() bool {
			a, err := c.do(t.Context(), "GET", "/healthz", "")
			if err != nil {
				t.Fatal(err)
			}
			return a.status == want
		}
	}
	c.set(t, "tea", 10)
	testkit.Eventually(t, "it is healthy", healthz(http.StatusOK))

	redis.Kill()
	testkit.Eventually(t, "it is not healthy", healthz(http.StatusServiceUnavailable))
	status, err := grpc_health_v1.NewHealthClient(c.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "shop.v1.ShopService"})
	if err != nil || status.GetStatus() != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("gRPC says %v, %v", status, err)
	}
	<-time.After(patience)
	doAll(t, c, "tea", lockedWrites, "unavailable")
	doAll(t, c, "tea", unlockedWrites, "done")

	redis.Restart()
	testkit.Eventually(t, "it is healthy again", healthz(http.StatusOK))
	testkit.Eventually(t, "it is well", func() bool { return s.logged("locks are available again") > 0 })
	for _, w := range lockedWrites {
		doAll(t, c, "tea", []write{w}, "done")
	}

	log := s.log.String()
	if n := strings.Count(log, "locks are unavailable"); n == 0 || strings.Count(log, redis.Addr()+": connect: connection refused") != n {
		t.Errorf("the log does not say once where and why:\n%s", log)
	}
	if strings.Contains(log, "lock not acquired") || !strings.Contains(log, "requests_refused=4 ") {
		t.Errorf("the log does not count what was refused:\n%s", log)
	}
}
