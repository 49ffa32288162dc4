package zklock_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/testkit"
	"github.com/distlock-go/distlock/internal/zktest"
)

// TestNamesAreLookedUpAgain: a server moves to another address and keeps its name. A name
// that is not known is not an error while another one is.
func TestNamesAreLookedUpAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := locked[string]{v: "10.0.0.1"}
		lookup := func(_ context.Context, host string) ([]string, error) {
			if host != "zk" || at.get() == "" {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return []string{at.get()}, nil
		}
		server := new(zktest.Virtual)
		dial := func(_, address string, _ time.Duration) (net.Conn, error) {
			if address != at.get()+":2181" {
				return nil, fmt.Errorf("nothing is at %s", address)
			}
			return server.Dial()
		}
		b := newBackend(t, []string{"later:2181", "zk:2181"}, zklock.WithLookup(lookup), zklock.WithDialer(dial),
			zklock.WithOpTimeout(10*time.Second))
		g := testkit.MustTry(t, b, testkit.NewRequest("key"))
		for _, address := range []string{"10.0.0.2", "10.0.0.3"} {
			at.set(address)
			server.Kill()
			synctest.Wait()
			if got := testkit.Renewed(t, b, g); got.Status != driver.Renewed {
				t.Errorf("at %s: %+v", address, got)
			}
		}
		at.set("")
		server.Kill()
		synctest.Wait()
		if _, err := b.TryAcquire(t.Context(), testkit.NewRequest("key")); err == nil || !strings.Contains(err.Error(), "nothing is at") {
			t.Errorf("without a known name: %v", err)
		}
	})
}
