package shop

import (
	"context"
	"fmt"
)

// Payments makes payments.
type Payments interface {
	// Pay pays an order. Orders do not wait for each other.
	Pay(ctx context.Context, user string, orderID int64) (Receipt, error)

	// Refund returns a payment. It has the same lock as Pay.
	Refund(ctx context.Context, r Receipt) error

	// Rate is called often and has no lock.
	Rate() int
}

// Receipt is the result of a payment.
type Receipt struct {
	OrderID int64
	Text    string
}

// Bank is a Payments.
type Bank struct{ Paid map[int64]int }

// Pay pays an order.
func (b *Bank) Pay(_ context.Context, user string, orderID int64) (Receipt, error) {
	b.Paid[orderID]++
	return Receipt{orderID, fmt.Sprint(user, " paid ", orderID)}, nil
}

// Refund returns a payment.
func (b *Bank) Refund(_ context.Context, r Receipt) error {
	b.Paid[r.OrderID]--
	return nil
}

// Rate returns the fee in per mille.
func (b *Bank) Rate() int { return 7 }
