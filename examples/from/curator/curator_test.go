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
	"github.com/distlock-go/distlock/internal/test/zktest"
)

type stock interface {
	Reserve(ctx context.Context, sku string) error
}

// stockFunc is a function as a stock.
type stockFunc func() error

func (f stockFunc) Reserve(context.Context, string) error { return f() }

func newLocker(servers []string) (*distlock.Locker, error) {
	backend, err := zklock.New(servers, zklock.Config{Root: "/shop/stock"})
	if err != nil {
		return nil, err
	}
	return distlock.New(backend, distlock.Config{}), nil
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
	locker, err := newLocker([]string{server.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close()
	conn, _, err := zk.Connect([]string{server.Addr()}, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	var nodes []string
	reserve := stockFunc(func() (err error) {
		nodes, _, err = conn.Children("/shop/stock/tea")
		return err
	})
	if err := after(t.Context(), locker, reserve, "tea"); err != nil {
		t.Fatal(err)
	}
	if len(nodes) != 1 || !strings.HasPrefix(nodes[0], "_c_") || !strings.Contains(nodes[0], "-lock-") {
		t.Errorf("the nodes of the lock are %q", nodes)
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
