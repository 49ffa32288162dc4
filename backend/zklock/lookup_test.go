package zklock_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestNamesAreLookedUpAgain: a server moves to another address and keeps its name. A
// name that is not known is not an error while another one is.
func TestNamesAreLookedUpAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := locked[[]string]{v: []string{"10.0.0.1", "10.0.1.1", "10.0.2.1"}}
		lookup := func(_ context.Context, host string) ([]string, error) {
			if host != "zk" || at.get() == nil {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return at.get(), nil
		}
		server := new(fakeServer)
		dial := func(_, address string, _ time.Duration) (net.Conn, error) {
			host, _, _ := net.SplitHostPort(address)
			switch {
			case slices.Contains(at.get(), host):
				return server.Dial()
			case host == "later", host == "zk" && at.get() == nil:
			default:
				t.Errorf("%s is dialled, which was the address before", address)
			}
			return nil, fmt.Errorf("nothing is at %s", address)
		}
		b := newBackend(t, []string{"later:2181", "zk:2181"}, zklock.Config{Dialer: dial, OpTimeout: 10 * time.Second}.WithLookup(lookup))
		g := testkit.MustTry(t, b, testkit.NewRequest("key"))
		for _, address := range []string{"10.0.0.2", "10.0.0.3"} {
			at.set([]string{address, address + "0", address + "1"})
			server.Kill()
			synctest.Wait()
			testkit.MustRenew(t, b, g)
		}
		at.set(nil)
		server.Kill()
		synctest.Wait()
		if _, err := b.TryAcquire(t.Context(), testkit.NewRequest("key")); err == nil || !strings.Contains(err.Error(), "nothing is at") {
			t.Errorf("without a known name: %v", err)
		}
	})
}
