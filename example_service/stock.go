package main

import (
	"context"
	"errors"
	"sync"
)

var (
	errUnknownSKU = errors.New("unknown sku")
	errSoldOut    = errors.New("sold out")

	// errFenced means that a later holder of the lock has used the item.
	errFenced = errors.New("refused: the item has seen a larger token")
)

// item is something to sell.
type item struct {
	SKU   string `json:"sku"`
	Stock int    `json:"stock"`
	Sold  int    `json:"sold"`
}

// stock keeps the items. It is the resource that the lock protects, and checks the
// fencing token of each caller: an item that has seen a token refuses all smaller ones.
// So a holder that was stopped for longer than its lease changes nothing. Token 0 is a
// caller without the lock, and passes.
type stock interface {
	// get returns an item, and shows it the token.
	get(ctx context.Context, sku string, token uint64) (item, error)

	// put starts a sale of n pieces.
	put(ctx context.Context, sku string, n int, token uint64) error

	// sell notes that a quantity was sold and that left pieces remain. It returns the
	// number of the order.
	sell(ctx context.Context, sku string, quantity, left int, token uint64) (orderID int64, err error)
}

// memoryStock keeps the items in memory.
type memoryStock struct {
	mu     sync.Mutex
	items  map[string]*fencedItem
	orders int64
}

type fencedItem struct {
	item

	fence uint64 // the largest token so far
}

func newMemoryStock() *memoryStock { return &memoryStock{items: map[string]*fencedItem{}} }

func (s *memoryStock) get(_ context.Context, sku string, token uint64) (item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it, err := s.fenced(sku, token)
	if err != nil {
		return item{}, err
	}
	return it.item, nil
}

func (s *memoryStock) put(_ context.Context, sku string, n int, token uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items[sku] == nil {
		s.items[sku] = &fencedItem{}
	}
	it, err := s.fenced(sku, token)
	if err != nil {
		return err
	}
	it.item = item{SKU: sku, Stock: n}
	return nil
}

func (s *memoryStock) sell(_ context.Context, sku string, quantity, left int, token uint64) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it, err := s.fenced(sku, token)
	if err != nil {
		return 0, err
	}
	it.Stock = left
	it.Sold += quantity
	s.orders++
	return s.orders, nil
}

// fenced returns the item, unless it has seen a larger token.
func (s *memoryStock) fenced(sku string, token uint64) (*fencedItem, error) {
	it := s.items[sku]
	switch {
	case it == nil:
		return nil, errUnknownSKU
	case token != 0 && token < it.fence:
		return nil, errFenced
	}
	it.fence = max(it.fence, token)
	return it, nil
}
