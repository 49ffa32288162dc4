package distlock

import (
	"cmp"
	"strconv"
	"time"

	"github.com/distlock-go/distlock/internal/owner"
)

// Config configures a [Locker]. Its zero value works.
type Config struct {
	// Hooks are told what happens. The default is none.
	Hooks Hooks

	// Hasher is the default of [Opts].Hasher; its own shows the parameters.
	Hasher Hasher

	// MaxWaiters limits how many goroutines of this process wait for one another, for all
	// keys together; the next one gets [ErrQueueFull]. One key has room for a fifth of them,
	// or for 10,000 if that is more. The first waiter for a key, which waits in the store, is
	// not counted. A waiter costs about 5 KB, so the default, 50,000, is about 250 MB. What
	// the waiter itself keeps comes on top of that, such as the body of a request.
	MaxWaiters int

	// CloseTimeout is how long [Locker.Close] waits for holders to release their leases.
	// The default is 5 seconds.
	CloseTimeout time.Duration

	// Holder is the name of this process in Inspect and in errors ("held by web-3/1432").
	// It has no effect on locking. It may be any text: characters other than ASCII letters,
	// digits and "-._/", which stores separate owners with, become "_", and what is beyond
	// 64 characters is cut off. The default is the host name and the process id; "-" means no name.
	Holder string

	// HandOverTime limits how long a lock passes from one holder in this process to the
	// next without going back to the store. It counts from when this process got the lock,
	// and does not end the last lease. Within this time, once other processes wait, only the
	// callers that were waiting here by then get the lock. The default is 100 ms; -1 is never.
	HandOverTime time.Duration
}

const (
	defaultTotalWaiters = 50_000
	defaultCloseTimeout = 5 * time.Second
	defaultHandOverTime = 100 * time.Millisecond

	// minKeyWaiters is how many waiters a key has room for: see Config.MaxWaiters.
	minKeyWaiters = 10_000

	// maxKeys limits how many keys a process holds or waits for at the same time. Clients
	// choose keys, and each key costs memory here and in the store.
	maxKeys = 1 << 20
)

// withDefaults fills in the zero fields. It panics if a field makes no sense.
func (c Config) withDefaults() Config {
	switch {
	case c.MaxWaiters < 0:
		panic("distlock: Config.MaxWaiters is negative: " + strconv.Itoa(c.MaxWaiters))
	case c.CloseTimeout < 0:
		panic("distlock: Config.CloseTimeout is negative: " + c.CloseTimeout.String())
	case c.HandOverTime < -1:
		panic("distlock: Config.HandOverTime is below -1: " + c.HandOverTime.String())
	}
	c.MaxWaiters = cmp.Or(c.MaxWaiters, defaultTotalWaiters)
	c.CloseTimeout = cmp.Or(c.CloseTimeout, defaultCloseTimeout)
	c.HandOverTime = cmp.Or(c.HandOverTime, defaultHandOverTime)
	switch c.Holder {
	case "":
		c.Holder = owner.DefaultHolder()
	case "-":
		c.Holder = ""
	default:
		c.Holder = owner.Name(c.Holder)
	}
	return c
}
