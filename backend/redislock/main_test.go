package redislock_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/testmode"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(readersEnv); addr != "" {
		if err := beReaders(addr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if args := os.Getenv(crowdEnv); args != "" {
		if err := beCrowd(args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testmode.AtATime(8)
	// go-redis tries to reach a dead server once a second, and notices only then that
	// the client was closed.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// eventually waits until cond is true, if a real server or the scheduler decides when.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute) // only a failing test waits that long
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("it never came true that %s", what)
		}
		<-tick.C
	}
}
