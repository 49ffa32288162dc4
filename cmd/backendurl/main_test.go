package backendurl_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/child"
)

func TestMain(m *testing.M) {
	// go-redis tries to reach a dead server once a second, and notices only then that
	// the client was closed.
	goleak.VerifyTestMain(child.Main{Tests: m}, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}
