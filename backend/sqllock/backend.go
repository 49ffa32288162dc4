package sqllock

import (
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/background"
	"github.com/distlock-go/distlock/internal/firstuse"
	_ "github.com/distlock-go/distlock/internal/raise-all-modules-together/v0.1" // one version
)

var (
	_ driver.Backend   = (*Backend)(nil)
	_ driver.Queuer    = (*Backend)(nil)
	_ driver.Extender  = (*Backend)(nil)
	_ driver.Inspector = (*Backend)(nil)
	_ driver.Pinger    = (*Backend)(nil)
)

// Backend keeps locks in the tables of a database. It is safe for concurrent use.
type Backend struct {
	config  Config
	dialect Dialect
	db      *sql.DB
	pool    *pool
	sql     *statements
	wakes   *wakes
	inDoubt doubt.Owners
	apart   atomic.Int64 // until when renewals do not share a statement, in Unix nanoseconds

	checked *firstuse.Check // the check of the tables

	background *background.Work
}

// Close does not release locks: the Locker does that before. It may be called again.
func (b *Backend) Close() error {
	b.background.Close(nil)
	b.background.Wait()
	b.pool.close()
	return nil
}

// Features implements [driver.Backend]. The requests for a key wait in one queue,
// whatever they ask for. A reader does not overtake a writer that waits.
func (b *Backend) Features() driver.Features { return driver.Features{Sharing: true, HandOff: true} }

func checkRequest(r *driver.Request) error {
	switch {
	case r.TTL < time.Millisecond:
		return fmt.Errorf("sqllock: a TTL of %v is less than a millisecond", r.TTL)
	case r.Permits < 0, r.Permits > 0 && r.Mode != driver.Exclusive,
		r.Mode != driver.Exclusive && r.Mode != driver.Shared:
		return fmt.Errorf("sqllock: mode %v with %d permits makes no sense", r.Mode, r.Permits)
	}
	return checkNames(r.Key, r.Owner)
}

// maxName is the most bytes of a key or an owner.
const maxName = 255

func checkNames(key, owner string) error {
	switch {
	case key == "", owner == "":
		return fmt.Errorf("sqllock: key %q or owner %q is empty", key, owner)
	case len(key) > maxName, len(owner) > maxName:
		return fmt.Errorf("sqllock: a key of %d bytes or an owner of %d bytes is too long: at most %d", len(key), len(owner), maxName)
	}
	return nil
}
