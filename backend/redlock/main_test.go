package redlock_test

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

func TestMain(m *testing.M) {
	testmode.AtATime(4)
	logging.Disable() // the client logs every refused connection
	// go-redis checks only once a second whether a pool that cannot dial was closed.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}
