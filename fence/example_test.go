package fence_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/fence"
)

// A function has one key for its resource. It may run under the lock itself, or be called by
// somebody who holds it.
func ExampleDialect_Check() {
	sell := func(ctx context.Context, db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		ticket, _ := fence.FromContext(ctx, "shop:stock:tea")
		if err := fence.Postgres.Check(ctx, tx, ticket); err != nil {
			return err // nil is no ticket, and refused
		}
		if _, err := tx.ExecContext(ctx, `UPDATE items SET stock = stock - 1 WHERE sku = 'tea'`); err != nil {
			return err
		}
		return tx.Commit()
	}
	_ = sell
	fmt.Println(fence.Postgres.Schema())
	// Output: CREATE TABLE IF NOT EXISTS distlock_fence (resource text COLLATE "C" NOT NULL PRIMARY KEY, token bigint NOT NULL)
}

// A ticket goes with a message of any kind.
func ExampleBoundary() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	boundary := fence.Signed([]byte("0123456789abcdef0123456789abcdef"))
	err := locker.Do(context.Background(), "stock:tea", distlock.Opts{Prefix: "shop:"}, func(ctx context.Context) error {
		texts, err := boundary.Tickets(ctx)
		if err != nil {
			return err
		}
		there, err := boundary.Context(context.Background(), texts) // in another process
		if err != nil {
			return err
		}
		ticket, ok := fence.FromContext(there, "shop:stock:tea")
		fmt.Println(ticket.Key(), ok)
		return nil
	})
	fmt.Println(err)
	// Output:
	// shop:stock:tea true
	// <nil>
}
