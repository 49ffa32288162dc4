package main

import (
	"cmp"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// orderRequest is a request to buy some pieces of an item.
type orderRequest struct {
	SKU      string
	Buyer    string
	Quantity int
}

// order is a sale.
type order struct {
	ID        int64
	SKU       string
	Remaining int    // the stock after the sale
	Token     uint64 // the fencing token of the lock; 0 without a lock
}

// stockRequest starts a sale: it sets the stock and deletes earlier orders.
type stockRequest struct {
	SKU   string
	Stock int
}

// item is the state of a sale.
type item struct {
	SKU   string
	Stock int
	Sold  int // the sum of all orders
}

// Limits of a request.
const (
	maxSKU      = 64
	maxBuyer    = 128
	maxQuantity = 1_000
	maxStock    = 1_000_000
)

// inputError is a bad request. Its text is for the client.
type inputError struct{ reason string }

// Error names the field and the mistake.
func (e *inputError) Error() string { return e.reason }

func badInput(format string, args ...any) error {
	return &inputError{reason: fmt.Sprintf(format, args...)}
}

func (r orderRequest) validate() error {
	return cmp.Or(validateSKU(r.SKU), validateBuyer(r.Buyer), validateRange("quantity", r.Quantity, 1, maxQuantity))
}

func (r stockRequest) validate() error {
	return cmp.Or(validateSKU(r.SKU), validateRange("stock", r.Stock, 0, maxStock))
}

// validateSKU accepts one spelling of each item, because two spellings would be two
// locks. It runs before the lock is taken, so that clients can only lock names that can
// be items.
func validateSKU(sku string) error {
	if sku == "" || len(sku) > maxSKU {
		return badInput("sku: want 1 to %d characters, got %d", maxSKU, len(sku))
	}
	for i := range len(sku) {
		c := sku[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return badInput("sku: want letters, digits and . _ - after the first, got %+q", sku)
		}
	}
	return nil
}

func validateBuyer(buyer string) error {
	if buyer == "" || len(buyer) > maxBuyer {
		return badInput("buyer: want 1 to %d bytes, got %d", maxBuyer, len(buyer))
	}
	blank := true
	for _, c := range buyer {
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			return badInput("buyer: want printable characters, got %+q", buyer)
		}
		blank = blank && c == ' '
	}
	if blank {
		return badInput("buyer: is blank")
	}
	return nil
}

func validateRange(field string, n, least, most int) error {
	if n < least || n > most {
		return badInput("%s: want %d to %d, got %d", field, least, most, n)
	}
	return nil
}
