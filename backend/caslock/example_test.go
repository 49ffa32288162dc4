package caslock_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/caslock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/locktest"
)

// rows is a whole store: a table with a version for each row.
type rows struct {
	mu   sync.Mutex
	next int
	all  map[string]row
}

type row struct {
	version string
	value   []byte
}

func (t *rows) Load(_ context.Context, key string) ([]byte, string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.all[key]
	return r.value, r.version, nil
}

func (t *rows) Swap(_ context.Context, key, version string, value []byte) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[key].version != version {
		return "", caslock.ErrChanged
	}
	t.next++ // a version never comes again
	t.all[key] = row{strconv.Itoa(t.next), value}
	return t.all[key].version, nil
}

func Example() {
	store := &rows{all: make(map[string]row)}
	locker := distlock.New(caslock.New(store, caslock.Config{}), distlock.Config{})
	defer locker.Close()

	err := locker.Do(context.Background(), "order-42", distlock.Opts{}, func(context.Context) error {
		fmt.Println("paying")
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// paying
	// error: <nil>
}

// The example keeps the whole contract.
func TestExample(t *testing.T) {
	var store *rows
	open := func(*testing.T, driver.Backend) driver.Backend { return caslock.New(store, caslock.Config{}) }
	locktest.Run(t, func(t *testing.T) driver.Backend {
		store = &rows{all: make(map[string]row)}
		return open(t, nil)
	}, locktest.Features{Bubble: true, Peer: open})
}
