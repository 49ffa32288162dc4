package shop

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// slowBank needs time for each payment.
type slowBank struct {
	Bank

	t *testing.T
}

func (b *slowBank) Pay(ctx context.Context, user string, orderID int64) (Receipt, error) {
	if end, ok := ctx.Deadline(); ok {
		b.t.Errorf("it has a deadline: %v", end)
	}
	select {
	case <-ctx.Done():
		b.t.Errorf("it was ended: %v", context.Cause(ctx))
	case <-time.After(10 * time.Second):
	}
	return b.Bank.Pay(ctx, user, orderID)
}

// Two payments of one order: the second waits for 3 s, as the comment on Pay says, and
// the first is not limited.
func TestMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := distlock.New(memlock.New(), distlock.Config{})
		bank := &slowBank{Bank: Bank{Paid: map[int64]int{}}, t: t}
		pay := NewLockedPayments(bank, l)
		first := make(chan error)
		start := time.Now()
		go func() {
			_, err := pay.Pay(t.Context(), "ada", 42)
			first <- err
		}()
		synctest.Wait()
		_, err := pay.Pay(t.Context(), "bob", 42)
		if d := time.Since(start); !errors.Is(err, distlock.ErrNotAcquired) || errors.Is(err, context.DeadlineExceeded) || d != 3*time.Second {
			t.Errorf("after %v: %v", d, err)
		}
		if err := <-first; err != nil || bank.Paid[42] != 1 || time.Since(start) != 10*time.Second {
			t.Errorf("paid %d times after %v: %v", bank.Paid[42], time.Since(start), err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}
