package main

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fakeShop behaves like the example service.
type fakeShop struct {
	mu    sync.Mutex
	items map[string]*fakeItem

	refuse atomic.Bool // refuse every order
	leaky  bool        // the lock has no effect
}

type fakeItem struct {
	lock  sync.Mutex
	stock atomic.Int64
	sold  atomic.Int64
}

func newFakeShop() *fakeShop { return &fakeShop{items: map[string]*fakeItem{}} }

func (s *fakeShop) item(sku string) *fakeItem {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items[sku] == nil {
		s.items[sku] = &fakeItem{}
	}
	return s.items[sku]
}

func (s *fakeShop) reset(sku string, stock int64) {
	i := s.item(sku)
	i.stock.Store(stock)
	i.sold.Store(0)
}

// order returns the stock that is left, or false if there was none.
func (s *fakeShop) order(sku string, locked bool) (int64, bool) {
	i := s.item(sku)
	if locked && !s.leaky {
		i.lock.Lock()
		defer i.lock.Unlock()
	}
	n := i.stock.Load()
	if n < 1 || s.refuse.Load() {
		return 0, false
	}
	<-time.After(time.Millisecond) // another reader meanwhile sells the same piece
	i.stock.Store(n - 1)
	i.sold.Add(1)
	return n - 1, true
}

// wantSold checks that the orders are spread over the skus like the users.
func (s *fakeShop) wantSold(t *testing.T, want map[string]int64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.items) != len(want) {
		t.Errorf("%d skus, want %d", len(s.items), len(want))
	}
	for sku, n := range want {
		if i := s.items[sku]; i == nil || i.sold.Load() != n {
			t.Errorf("%s was not sold %d times", sku, n)
		}
	}
}
