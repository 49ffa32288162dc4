package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
)

// ExampleBackend_Guard demonstrates a lock and what it protects in one database. The
// transaction of a holder that was overtaken fails, even if the holder has not noticed.
func ExampleBackend_Guard() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "shop.db")+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	if err := sqllock.CreateTable(ctx, db, sqllock.SQLite, sqllock.DefaultTable); err != nil {
		panic(err)
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE items (sku TEXT PRIMARY KEY, stock INTEGER NOT NULL); INSERT INTO items VALUES ('tea', 10)`); err != nil {
		panic(err)
	}
	locks, err := sqllock.New(db, sqllock.SQLite, sqllock.Config{})
	if err != nil {
		panic(err)
	}
	locker := distlock.New(locks, distlock.Config{})
	defer locker.Close()

	sell := func(lease *distlock.Lease) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := locks.Guard(ctx, tx, lease); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE items SET stock = stock - 1 WHERE sku = 'tea'`); err != nil {
			return err
		}
		return tx.Commit()
	}

	lease, err := locker.Acquire(ctx, "tea", distlock.Opts{})
	if err != nil {
		panic(err)
	}
	fmt.Println("sell:", sell(lease))

	// The key is taken away, and the Locker has not noticed, as after the end of the
	// lease while a process is stopped.
	if _, err := locks.ForceRelease(ctx, "tea"); err != nil {
		panic(err)
	}
	err = sell(lease)
	fmt.Println("valid by the clock:", lease.Check() == nil)
	fmt.Println("sell:", errors.Is(err, sqllock.ErrStale), errors.Is(err, distlock.ErrLost))

	var stock int
	if err := db.QueryRowContext(ctx, `SELECT stock FROM items WHERE sku = 'tea'`).Scan(&stock); err != nil {
		panic(err)
	}
	fmt.Println("stock:", stock)
	fmt.Println("release:", errors.Is(lease.Release(ctx), distlock.ErrLost))
	// Output:
	// sell: <nil>
	// valid by the clock: true
	// sell: true true
	// stock: 9
	// release: true
}
