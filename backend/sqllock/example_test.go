package sqllock_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
)

// Example demonstrates a function under a lock in a file of SQLite.
func Example() {
	dir, err := os.MkdirTemp("", "sqllock")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "shop.db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	if err := sqllock.CreateTable(ctx, db, sqllock.SQLite, sqllock.DefaultTable); err != nil {
		log.Fatal(err)
	}
	backend, err := sqllock.New(db, sqllock.SQLite, sqllock.Config{})
	if err != nil {
		log.Fatal(err)
	}
	locker := distlock.New(backend, distlock.Config{})
	defer locker.Close()

	err = locker.Do(ctx, "order-42", distlock.Opts{}, func(ctx context.Context) error {
		lease, _ := distlock.FromContext(ctx)
		fmt.Println("paying with a token:", lease.Token() > 0)
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// paying with a token: true
	// error: <nil>
}

// ExampleSchema demonstrates how to print the SQL for a migration by hand.
//
//nolint:testableexamples // the output is long
func ExampleSchema() {
	text, err := sqllock.Schema(sqllock.MySQL, "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(text)
}
