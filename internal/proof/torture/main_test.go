package torture

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	seedFlag    = flag.Uint64("seed", 0, "of the plan of faults; 0 chooses one")
	durFlag     = flag.Duration("dur", 0, "how long faults are injected; 0 is the short form")
	backendFlag = flag.String("backend", "", "what is tortured: "+strings.Join(backends, ", ")+"; by default some of them")
	keepFlag    = flag.String("keep", "", "directory for the history, which is kept then")
)

// shortForm is how long faults are injected by default.
const shortForm = 3500 * time.Millisecond

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		os.Exit(beChild(text))
	}
	goleak.VerifyTestMain(m, ignoreDial)
}
