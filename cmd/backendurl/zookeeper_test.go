package backendurl_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

func TestZooKeeper(t *testing.T) {
	addr := zktest.Start(t, zktest.Config{}).Addr()
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = dead.Close()
	for _, rawURL := range []string{
		"zk://" + addr,
		"zk://" + addr + "/",
		"ZK://" + addr + "/shop/locks",
		"zk://" + addr + "," + dead.Addr().String() + "/shop/locks/",
		"zk://" + addr + "/another%20shop?session_timeout=5s",
		"zk://user:pass%40word@" + addr + "/mine",
	} {
		use(t, rawURL)
	}
}

// TestChroot opens the same servers with different chroots.
func TestChroot(t *testing.T) {
	testmode.Long(t)
	addr := zktest.Start(t, zktest.Config{}).Addr()
	b, err := backendurl.Open(t.Context(), "zk://"+addr+"/shop")
	if err != nil {
		t.Fatal(err)
	}
	l := distlock.New(b.Backend, distlock.Config{})
	defer l.Close()
	err = l.Do(t.Context(), "tea", distlock.Opts{}, func(ctx context.Context) error {
		for root, want := range map[string]int{"/shop/distlock": 1, "/distlock": 0, "/shop": 0} {
			other, err := zklock.New([]string{addr}, zklock.WithRoot(root))
			if err != nil {
				return err
			}
			found, err := other.Inspect(ctx, "tea", 10)
			if err != nil || len(found) != want {
				t.Errorf("below %s: %+v, %v", root, found, err)
			}
			if err := other.Close(); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDigest opens nodes that belong to another user.
func TestDigest(t *testing.T) {
	addr := zktest.Start(t, zktest.Config{}).Addr()
	use(t, "zk://user:secret@"+addr)
	b, err := backendurl.Open(t.Context(), "zk://user:wrong@"+addr)
	if b != nil || err == nil || !strings.Contains(err.Error(), "not authenticated") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with another password: %v, %v", b, err)
	}
}
