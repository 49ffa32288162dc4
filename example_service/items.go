package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
)

// errUnknownSKU means that the item does not exist.
var errUnknownSKU = errors.New("unknown sku")

// errFenced is the error of a write after the lock has passed to another holder, even
// if the writer does not know that yet.
var errFenced = fmt.Errorf("%w: a later holder has used the item", distlock.ErrLost)

// item returns the state of the sale of sku.
func (s *store) item(ctx context.Context, sku string) (item, error) {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	it := item{SKU: sku}
	err := s.read.QueryRowContext(limited, `
		SELECT stock, (SELECT COALESCE(SUM(quantity), 0) FROM orders WHERE orders.sku = items.sku)
		FROM items WHERE sku = $1`, sku).Scan(&it.Stock, &it.Sold)
	return it, s.failure(ctx, err)
}

// stock returns the stock of sku.
func (s *store) stock(ctx context.Context, sku string) (int, error) {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var n int
	err := s.read.QueryRowContext(limited, `SELECT stock FROM items WHERE sku = $1`, sku).Scan(&n)
	return n, s.failure(ctx, err)
}

// claim stores the token of a new holder in the item. From then on earlier holders
// cannot write. A holder must call it before it reads: if the token were checked only
// when the holder writes, an earlier holder could write between the read and the write,
// and its sale would be overwritten.
func (s *store) claim(ctx context.Context, sku string, token uint64) error {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	res, err := s.write.ExecContext(limited, `UPDATE items SET fence = $1 WHERE sku = $2 AND fence <= $1`, int64(token), sku)
	if err = unfenced(res, err); errors.Is(err, errFenced) {
		if _, err := s.stock(ctx, sku); err != nil {
			return err // the item does not exist
		}
	}
	return s.failure(ctx, err)
}
