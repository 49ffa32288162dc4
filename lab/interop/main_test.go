package interop_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// update writes docs/interop.md anew.
var update = flag.Bool("update", false, "write docs/interop.md with the results of the tests")

// patience limits the wait for what must happen, on a slow and busy machine.
const patience = time.Minute

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // the client logs every refused connection
	if args := os.Getenv(agentEnv); args != "" {
		if err := beAgent(args, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
