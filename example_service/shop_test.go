package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

var testConfig = config{think: time.Millisecond, wait: 10 * time.Second}

// newTestShop returns a shop with one item, tea.
func newTestShop(t *testing.T, client *redis.Client, c config, pieces int) (*shop, *distlock.Locker) {
	t.Helper()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	sh := newShop(l, itemLock(c), stock{client}, c.think)
	if _, err := sh.reset(t.Context(), sale{"tea", pieces}); err != nil {
		t.Fatal(err)
	}
	return sh, l
}

// virtual returns a client of a Redis in virtual time.
func virtual(t *testing.T) *redis.Client {
	t.Helper()
	return redistest.VirtualClient(t, redistest.Virtual(t))
}

// orderAll places n orders at once, and returns the receipts.
func orderAll(t *testing.T, n int, place distlock.Func[order, receipt]) (sold []receipt) {
	t.Helper()
	var mu sync.Mutex
	var ordering sync.WaitGroup
	for i := range n {
		ordering.Go(func() {
			r, err := place(t.Context(), order{"tea", fmt.Sprint("u", i), 1})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				sold = append(sold, r)
			case !errors.Is(err, errSoldOut):
				t.Error(err)
			}
		})
	}
	ordering.Wait()
	return sold
}

// Under the lock the result is as if the orders came one after the other, and the token
// rises with each.
func TestLockedSaleIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh, _ := newTestShop(t, virtual(t), testConfig, 100)
		sold := orderAll(t, 500, sh.place)
		it, err := sh.stock.get(t.Context(), "tea", 0)
		if err != nil || it != (item{"tea", 0, 100}) || len(sold) != 100 {
			t.Errorf("%d receipts, %+v, %v", len(sold), it, err)
		}
		slices.SortFunc(sold, func(a, b receipt) int { return int(a.OrderID - b.OrderID) })
		for i, r := range sold {
			if r.Remaining != 99-i || i > 0 && r.Token <= sold[i-1].Token {
				t.Fatalf("order %d: %+v", i, r)
			}
		}
	})
}

// Without the lock all orders read the same stock.
func TestUnlockedSaleOversells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh, _ := newTestShop(t, virtual(t), testConfig, 100)
		sold := orderAll(t, 500, sh.placeUnlocked)
		it, err := sh.stock.get(t.Context(), "tea", 0)
		if err != nil || it != (item{"tea", 99, 500}) || len(sold) != 500 {
			t.Errorf("%d receipts, %+v, %v", len(sold), it, err)
		}
	})
}

// An order that loses its lock while it thinks writes nothing.
func TestLostLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh, l := newTestShop(t, virtual(t), config{think: time.Minute, wait: time.Second}, 10)
		time.AfterFunc(time.Second, func() {
			if _, err := admin.ForceRelease(t.Context(), l, "shop:item:tea"); err != nil {
				t.Error(err)
			}
		})
		if _, err := sh.place(t.Context(), order{"tea", "u1", 1}); !errors.Is(err, distlock.ErrLost) {
			t.Errorf("the order ends with %v", err)
		}
		if it, err := sh.stock.get(t.Context(), "tea", 0); err != nil || it != (item{"tea", 10, 0}) {
			t.Errorf("%+v, %v", it, err)
		}
	})
}

// A caller with a smaller token than the last one changes nothing.
func TestFence(t *testing.T) {
	s := newAPI(t, testConfig, 0).shop.stock
	if _, err := s.get(t.Context(), "coffee", 0); !errors.Is(err, errUnknownSKU) {
		t.Errorf("before the sale: %v", err)
	}
	const token = 1795231610523817 // as large as tokens are
	for _, c := range []struct {
		quantity int
		token    uint64
		order    int64
		err      error
	}{{0, token - 2, 0, nil}, {1, token, 1, nil}, {1, token - 1, 0, fence.ErrStale}, {0, token - 1, 0, fence.ErrStale}, {2, token, 2, nil}, {1, 0, 3, nil}} {
		if id, err := s.put(t.Context(), "coffee", 9, c.quantity, c.token); id != c.order || !errors.Is(err, c.err) {
			t.Errorf("%+v: order %d, %v", c, id, err)
		}
	}
	if it, err := s.get(t.Context(), "coffee", token+1); err != nil || it != (item{"coffee", 9, 4}) {
		t.Errorf("%+v, %v", it, err)
	}
	if _, err := s.get(t.Context(), "coffee", token); !errors.Is(err, fence.ErrStale) {
		t.Errorf("a late reader: %v", err)
	}
}
