package cookbook_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/cookbook"
)

// schema is a cookbook.Schema with migrations of ten seconds.
type schema struct {
	version atomic.Int32
	running gauge
	crash   func(ctx context.Context, version int) error
}

func (s *schema) Version(context.Context) (int, error) {
	return int(s.version.Load()), nil
}

func (s *schema) Apply(ctx context.Context, version int) error {
	s.running.begin()
	defer s.running.end()
	if s.crash != nil {
		if err := s.crash(ctx, version); err != nil {
			return err
		}
	}
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !s.version.CompareAndSwap(int32(version-1), int32(version)) {
		return errors.New("not the next version")
	}
	return nil
}

// TestMigrate: five instances start, one runs the three migrations, and all are ready
// when the third is committed. The next start takes no lock.
func TestMigrate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, instances := newProcesses(t, 5)
		db := new(schema)
		start := time.Now()
		together(instances, 1, func(l *distlock.Locker) {
			if err := cookbook.Migrate(t.Context(), l, db, 3); err != nil || time.Since(start) != 30*time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		})
		if v, n := db.version.Load(), db.running.total.Load(); v != 3 || n != 3 {
			t.Errorf("version %d after %d migrations", v, n)
		}
		dead := newDead(t)
		if err := cookbook.Migrate(t.Context(), dead, db, 3); err != nil {
			t.Errorf("a start without the store: %v", err)
		}
		if err := cookbook.Migrate(t.Context(), dead, db, 4); !errors.Is(err, distlock.ErrUnavailable) {
			t.Errorf("a migration without the store: %v", err)
		}
	})
}

// TestMigrateCrash: the first of five instances dies in the middle of the second
// migration. Another one runs it again, and the first migration is not repeated.
func TestMigrateCrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, instances := newProcesses(t, 4)
		first, cut := newMortal(t, store)
		db := new(schema)
		dead := false
		db.crash = func(ctx context.Context, version int) error {
			if version == 2 && !dead {
				cut()
				dead = true
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return nil
		}
		crashed := make(chan error, 1)
		start := time.Now()
		go func() { crashed <- cookbook.Migrate(t.Context(), first, db, 3) }()
		synctest.Wait()
		together(instances, 1, func(l *distlock.Locker) {
			err := cookbook.Migrate(t.Context(), l, db, 3)
			if took := time.Since(start); err != nil || took > 30*time.Second+distlock.DefaultKeyTimeout {
				t.Errorf("after %v: %v", took, err)
			}
		})
		if err := <-crashed; !errors.Is(err, distlock.ErrLost) {
			t.Errorf("the instance that crashed: %v", err)
		}
		if v, n := db.version.Load(), db.running.total.Load(); v != 3 || n != 4 || db.running.most.Load() != 1 {
			t.Errorf("version %d after %d migrations, %d at once", v, n, db.running.most.Load())
		}
	})
}
