package cookbook_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/internal/cookbook"
)

var errNoRow = errors.New("no row")

// bank is a cookbook.Bank. A change takes 10 ms.
type bank struct {
	mu       sync.Mutex
	balances map[string]int
	tokens   map[string]uint64
}

func newBank(accounts ...string) *bank {
	b := &bank{balances: map[string]int{}, tokens: map[string]uint64{}}
	for _, a := range accounts {
		b.balances[a] = 0
	}
	return b
}

func (b *bank) Begin(ctx context.Context) (cookbook.Transaction, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &transaction{ctx, b, maps.Clone(b.balances), map[string]uint64{}}, nil
}

// transaction has a copy of all balances. Commit writes the changed ones.
type transaction struct {
	ctx      context.Context
	bank     *bank
	balances map[string]int
	tokens   map[string]uint64 // of the accounts that were changed
}

func (tx *transaction) Add(account string, amount int, token uint64) error {
	select {
	case <-time.After(10 * time.Millisecond):
	case <-tx.ctx.Done():
		return context.Cause(tx.ctx)
	}
	tx.bank.mu.Lock()
	defer tx.bank.mu.Unlock()
	if _, found := tx.balances[account]; !found || token < tx.bank.tokens[account] {
		return errNoRow
	}
	tx.balances[account] += amount
	tx.tokens[account] = token
	return nil
}

func (tx *transaction) Commit() error {
	tx.bank.mu.Lock()
	defer tx.bank.mu.Unlock()
	for account, token := range tx.tokens {
		tx.bank.balances[account], tx.bank.tokens[account] = tx.balances[account], token
	}
	return nil
}

func (tx *transaction) Rollback() {}

// TestBook: a hundred batches in four processes, each of three of six accounts. All are
// booked, so no two of them wait for each other.
func TestBook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, processes := newProcesses(t, 4)
		names := []string{"a", "b", "c", "d", "e", "f"}
		b := newBank(names...)
		want := map[string]int{}
		var batches sync.WaitGroup
		for i := range 100 {
			batch := map[string]int{names[i%6]: -2, names[(i+1)%6]: 1, names[(i+3)%6]: 1}
			for account, amount := range batch {
				want[account] += amount
			}
			batches.Go(func() {
				if err := cookbook.Book(t.Context(), processes[i%4], b, batch); err != nil {
					t.Error(err)
				}
			})
		}
		batches.Wait()
		if !maps.Equal(b.balances, want) {
			t.Errorf("%v, want %v", b.balances, want)
		}
	})
}

// TestBookLost: one lock of the batch is lost, and nothing is booked. A later holder
// has changed the account; its token is larger.
func TestBookLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, processes := newProcesses(t, 2)
		b := newBank("ann", "bob")
		time.AfterFunc(5*time.Millisecond, func() {
			store.Drop("account:bob")
			if err := cookbook.Book(t.Context(), processes[1], b, map[string]int{"bob": 7}); err != nil {
				t.Error(err)
			}
		})
		slow := &slowBank{b}
		err := cookbook.Book(t.Context(), processes[0], slow, map[string]int{"ann": -5, "bob": 5})
		if !errors.Is(err, errNoRow) || b.balances["ann"] != 0 || b.balances["bob"] != 7 {
			t.Errorf("%v: %v", b.balances, err)
		}
	})
}

// slowBank pauses before a transaction begins.
type slowBank struct{ *bank }

func (b *slowBank) Begin(ctx context.Context) (cookbook.Transaction, error) {
	time.Sleep(time.Second)
	return b.bank.Begin(ctx)
}
