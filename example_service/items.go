package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
)

// errUnknownSKU: there is no such item.
var errUnknownSKU = errors.New("unknown sku")

// errFenced is how the database refuses a holder whose lock has passed to
// another, even if that holder does not know it yet.
var errFenced = fmt.Errorf("%w: a later holder has been here", distlock.ErrLost)

// item returns how the sale of sku stands.
func (s *store) item(ctx context.Context, sku string) (item, error) {
	it := item{SKU: sku}
	err := s.read.QueryRowContext(ctx, `
		SELECT stock, (SELECT COALESCE(SUM(quantity), 0) FROM orders WHERE orders.sku = items.sku)
		FROM items WHERE sku = ?`, sku).Scan(&it.Stock, &it.Sold)
	if errors.Is(err, sql.ErrNoRows) {
		return item{}, errUnknownSKU
	}
	return it, err
}

// stock returns what is left of sku.
func (s *store) stock(ctx context.Context, sku string) (int, error) {
	var n int
	err := s.read.QueryRowContext(ctx, `SELECT stock FROM items WHERE sku = ?`, sku).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, errUnknownSKU
	}
	return n, err
}

// claim shows the item the token of a new holder. From then on earlier holders
// cannot write. A holder must do so before it reads: checked only when it
// writes, a token does not help against an earlier holder who writes between the
// two, whose sale would be overwritten.
func (s *store) claim(ctx context.Context, sku string, token uint64) error {
	res, err := s.write.ExecContext(ctx, `UPDATE items SET fence = ? WHERE sku = ? AND fence <= ?`,
		int64(token), sku, int64(token))
	if err = unfenced(res, err); errors.Is(err, errFenced) {
		if _, err := s.stock(ctx, sku); err != nil {
			return err // there is no item to be fenced
		}
	}
	return err
}
