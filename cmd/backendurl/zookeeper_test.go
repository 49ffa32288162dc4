package backendurl_test

import (
	"io"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

func TestZooKeeper(t *testing.T) {
	addr := zktest.Start(t, zktest.Config{}).Addr()
	for _, rawURL := range []string{
		"zk://" + addr,
		"zk://" + addr + "/",
		"ZK://" + addr + "/shop/locks",
		"zk://" + addr + "," + child.ClosedAddr(t) + "/shop/locks/",
		"zk://" + addr + "/another%20shop?session_timeout=5s",
		"zk://user:pass%40word@" + addr + "/mine",
	} {
		use(t, rawURL)
	}
	refused(t, "zk://user:secret@"+addr+"/mine", "not authenticated")
}

// TestChroot: a lock is below the chroot of its URL.
func TestChroot(t *testing.T) {
	testmode.Long(t)
	addr := zktest.Start(t, zktest.Config{}).Addr()
	for root, want := range map[string]int{"/shop/distlock": 1, "/distlock": 0, "/shop": 0} {
		other, err := zklock.New([]string{addr}, zklock.Config{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = other.(io.Closer).Close() })
		mustFind(t, "zk://"+addr+"/shop", other.(driver.Inspector), want)
	}
}
