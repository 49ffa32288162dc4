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

	// put leaves n pieces of an item, notes that a quantity was sold, and returns the
	// number of the order. A quantity of 0 starts a sale.
	put(ctx context.Context, sku string, n, quantity int, token uint64) (orderID int64, err error)
}

// memoryStock keeps the items in memory.
type memoryStock struct {
	mu     sync.Mutex
	items  map[string]item
	fences map[string]uint64 // the largest token of each item so far
	orders int64
}

func newMemoryStock() *memoryStock {
	return &memoryStock{items: map[string]item{}, fences: map[string]uint64{}}
}

func (s *memoryStock) get(_ context.Context, sku string, token uint64) (item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it, ok := s.items[sku]
	if !ok {
		return item{}, errUnknownSKU
	}
	return it, s.fence(sku, token)
}

func (s *memoryStock) put(_ context.Context, sku string, n, quantity int, token uint64) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fence(sku, token); err != nil {
		return 0, err
	}
	if quantity == 0 {
		s.items[sku] = item{SKU: sku, Stock: n}
		return 0, nil
	}
	s.items[sku] = item{SKU: sku, Stock: n, Sold: s.items[sku].Sold + quantity}
	s.orders++
	return s.orders, nil
}

// fence refuses a token if the item has seen a larger one.
func (s *memoryStock) fence(sku string, token uint64) error {
	if token != 0 && token < s.fences[sku] {
		return errFenced
	}
	s.fences[sku] = max(s.fences[sku], token)
	return nil
}
