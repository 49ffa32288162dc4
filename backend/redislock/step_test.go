package redislock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// The key is deleted between the work and its commit: the commit does not happen, the
// data is as before, and the error contains both the loss and the error of Undo.
func TestStepLosesItsKey(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		locker := distlock.New(redislock.New(s.Client, unhurried), distlock.Config{})
		defer locker.Close()
		data := filepath.Join(t.TempDir(), "stock")
		write := func(text string) error { return os.WriteFile(data, []byte(text), 0o600) }
		noError(t, write("100"))
		errUndo := errors.New("restored from the record")

		opts := distlock.Opts{KeyTimeout: 5 * time.Second}
		err := locker.Do(t.Context(), lockKey, opts, func(ctx context.Context) error {
			lease, _ := distlock.FromContext(ctx)
			before, err := os.ReadFile(data)
			noError(t, err)
			return lease.Step(ctx, distlock.Step{
				Do: func(ctx context.Context) error {
					noError(t, write("99"))
					if n := s.Del(t.Context(), lockKey).Val(); n != 1 {
						t.Errorf("%d keys deleted", n)
					}
					<-ctx.Done() // until the next renewal
					return nil
				},
				Commit: func(context.Context) error {
					t.Error("committed without the lock")
					return nil
				},
				Undo: func(ctx context.Context) error {
					noError(t, ctx.Err())
					noError(t, write(string(before)))
					return errUndo
				},
			})
		})
		const gone = `"shop:pay": lock lost: the store says that this owner does not have the key`
		const want = "distlock: step " + gone + "; undo: restored from the record; distlock: release " + gone
		if !errors.Is(err, driver.ErrLost) || !errors.Is(err, errUndo) || err.Error() != want {
			t.Errorf("the error is\n%v, want\n%s", err, want)
		}
		if text, err := os.ReadFile(data); err != nil || string(text) != "100" {
			t.Errorf("the data is %q, %v", text, err)
		}
	})
}
