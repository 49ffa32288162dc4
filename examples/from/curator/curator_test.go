// Package curator has code of docs/migrating.md.
package curator

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

type stock struct {
	Reserve func(ctx context.Context, sku string) error
}

func after(ctx context.Context, locker *distlock.Locker, stock stock, sku string) error {
	return locker.Do(ctx, sku, distlock.Opts{MaxWait: 3 * time.Second}, func(ctx context.Context) error {
		return stock.Reserve(ctx, sku)
	})
}

// TestOnePath: the lock is a node of Curator's kind on the path of the page.
func TestOnePath(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Config{})
	backend, err := zklock.New([]string{server.Addr()}, zklock.Config{Root: "/shop/stock"})
	if err != nil {
		t.Fatal(err)
	}
	conn, _, err := zk.Connect([]string{server.Addr()}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	testkit.WantIs(t, after(t.Context(), testkit.NewLocker(t, backend, distlock.Config{}), stock{func(context.Context, string) error {
		nodes, _, err := conn.Children("/shop/stock/tea")
		if len(nodes) != 1 || !strings.HasPrefix(nodes[0], "_c_") || !strings.Contains(nodes[0], "-lock-") {
			t.Errorf("the nodes of the lock are %q, %v", nodes, err)
		}
		return nil
	}}, "tea"))
}
