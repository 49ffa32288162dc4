package interop_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

// update writes docs/interop.md anew.
var update = flag.Bool("update", false, "write docs/interop.md with the results of the tests")

// patience limits the wait for what must happen, on a slow and busy machine.
const patience = time.Minute

func TestMain(m *testing.M) {
	logging.Disable() // the client logs every refused connection
	testkit.BeChild(map[string]func(*testkit.Child) error{roleAgent: beAgent})
	os.Exit(m.Run())
}
