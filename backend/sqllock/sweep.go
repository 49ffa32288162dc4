package sqllock

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
)

// sweepPause lets others work between two pages.
const sweepPause = 50 * time.Millisecond

// sweepAtIntervals deletes the rows of unused keys, because callers choose the keys.
// One process does it for all.
func (b *Backend) sweepAtIntervals() {
	every := b.config.Retention / 4
	for clock.Sleep(b.background, every/2+rand.N(every)) {
		if b.checked.Done() {
			_ = b.sweep(b.background, every) // if it fails, the next one does the rest
		}
	}
}

// sweep deletes the rows of unused keys unless another process did it lately.
func (b *Backend) sweep(ctx context.Context, interval time.Duration) error {
	mine := false
	err := b.do(ctx, forAttempt, func(ctx context.Context, c *sql.Conn) (err error) {
		mine, err = b.sql.takeTurn.exec(ctx, c, values{"interval": interval.Microseconds()})
		return err
	})
	for after := ""; err == nil && mine; {
		var page, unused []string
		if page, unused, err = b.unused(ctx, after); err != nil || len(page) == 0 {
			return err
		}
		for _, key := range unused {
			if err := b.delete(ctx, key); err != nil {
				return err
			}
		}
		after = page[len(page)-1]
		mine = clock.Sleep(ctx, sweepPause)
	}
	return err
}

// unused reads the next keys, and which of them can be deleted.
func (b *Backend) unused(ctx context.Context, after string) (page, unused []string, err error) {
	err = b.do(ctx, forAttempt, func(ctx context.Context, c *sql.Conn) error {
		page, unused = nil, nil
		return b.sql.unused.rows(ctx, c, values{"from": after, "retention": b.config.Retention.Microseconds()}, func(scan func(...any) error) error {
			var key string
			var yes bool
			err := scan(&key, &yes)
			page = append(page, key)
			if yes {
				unused = append(unused, key)
			}
			return err
		})
	})
	return page, unused, err
}

// delete deletes the row of a key if it is still unused.
func (b *Backend) delete(ctx context.Context, key string) error {
	return b.transact(ctx, forAttempt, func(ctx context.Context, c *sql.Conn) error {
		_, err := b.changeIn(ctx, c, key, false, nil, func(*entry) {}) // without those that have died
		deleted := false
		if err == nil {
			deleted, err = b.sql.delKey.exec(ctx, c, values{"key": key, "retention": b.config.Retention.Microseconds()})
		}
		if deleted && b.dialect == MySQL {
			_, err = b.sql.delGuard.exec(ctx, c, values{"key": key})
		}
		return err
	})
}
