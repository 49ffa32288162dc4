package proof_test

import (
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// With GODEBUG=fips140=only, the standard library panics when SHA-1 or MD5 are used, also
// while packages are initialised. A process with the setting takes a lock in each store and
// releases it.
func TestFIPS(t *testing.T) {
	for kind, start := range starts {
		t.Run(kind, func(t *testing.T) {
			if !strings.HasPrefix(kind, "red") {
				testmode.Long(t)
			}
			s := start(t)
			t.Setenv("GODEBUG", "fips140=only")
			s.Session = 20 * time.Second
			p := testkit.StartChild(t, roleHolder, order{Store: s.address, Lease: 10 * time.Second})
			p.Hear("held", new(uint64))
			p.CloseInput()
			if code := p.Wait(); code != 0 {
				t.Errorf("it exits with %d: %s", code, p.Stderr())
			}
		})
	}
}
