package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/backendurl"
	"github.com/distlock-go/distlock/internal/child"
)

// TestStoppedHolder stops a process that has read the stock and is about to write it,
// for longer than its lease. Meanwhile another process sells. Then the write of the
// first is refused by its token, and the stock is exact. The log shows the same without
// the check of the token.
func TestStoppedHolder(t *testing.T) {
	t.Parallel() // most of its time is waiting
	for _, role := range []string{"checked order", "unchecked order"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			backend, db := onPostgres(t)
			args := []string{"-backend", backend, "-db", db}
			quick := newClient(t, startProcess(t, args...).addresses)
			quick.set(t, "tea", 10)
			slow, out := startChild(t, role, args...)
			lines := bufio.NewScanner(out)
			if !lines.Scan() || lines.Text() != "about to write" {
				t.Fatalf("the process says %q", lines.Text())
			}
			if err := child.Stop(slow.cmd.Process); err != nil {
				t.Fatal(err)
			}
			if r := quick.orderHTTP(t.Context(), "", "tea"); r.err != nil || r.Remaining != 9 {
				t.Errorf("after the lease of the process that is stopped: %+v", r)
			}
			if err := child.Cont(slow.cmd.Process); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(slow.in, "write\n"); err != nil {
				t.Fatal(err)
			}
			if !lines.Scan() {
				t.Fatal("the process does not say what became of its order")
			}
			it := quick.item(t, "tea")
			t.Logf("of 10 there are %d left and %d sold; the late order: %s", it.Stock, it.Sold, lines.Text())
			if role == "checked order" && (it.Stock != 9 || it.Sold != 1 || !strings.Contains(lines.Text(), errFenced.Error())) {
				t.Error("the late order was not refused by its token")
			}
		})
	}
}

// orderLate places an order and prints its result. It writes when stdin says so, like a
// program that does not look at its context. Without a check it writes under the lock,
// and its token does not matter.
func orderLate(checked bool) error {
	ctx := context.Background()
	cfg, err := parseFlags(os.Args[1:], os.Stdout)
	if err != nil {
		return err
	}
	items, err := openStore(ctx, cfg.db)
	if err != nil {
		return err
	}
	backend, err := backendurl.Open(ctx, cfg.backend)
	if err != nil {
		return err
	}
	l, lock := distlock.New(backend.Backend, distlock.Config{}), itemLock(cfg)
	sh := newShop(l, lock, items, &ledger{}, func(context.Context) error {
		fmt.Println("about to write")
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		return err
	})
	place := distlock.Func[orderRequest, order](sh.place)
	if !checked {
		lock.Params = distlock.By(func(r orderRequest) any { return r.SKU })
		place = distlock.Wrap(l, func(ctx context.Context, r orderRequest) (order, error) { return sh.sell(ctx, r, nil) }, lock)
	}
	o, err := place(ctx, orderRequest{"tea", "slow", 1})
	fmt.Printf("%+v, %v\n", o, err)
	return nil
}
