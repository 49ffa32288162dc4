package torture

import (
	"flag"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

var (
	seedFlag    = flag.Uint64("seed", 0, "of the plan of faults; 0 chooses one")
	durFlag     = flag.Duration("dur", 0, "how long faults are injected; 0 is the short form")
	backendFlag = flag.String("backend", "", "what is tortured: "+strings.Join(backends, ", ")+"; by default some of them")
)

// shortForm is how long faults are injected by default.
const shortForm = 3500 * time.Millisecond

func TestMain(m *testing.M) {
	testkit.BeChild(map[string]func(*testkit.Child) error{roleKid: beKid})
	goleak.VerifyTestMain(m, ignoreDial)
}
