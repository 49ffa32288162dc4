package distlock

import (
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock/internal/owner"
)

// Defaults of [Config].
const (
	DefaultMaxKeys      = 1 << 20
	DefaultTotalWaiters = 50_000
	DefaultCloseTimeout = 5 * time.Second
	DefaultHandOvers    = 64
	DefaultHandOverTime = 100 * time.Millisecond
)

// Config holds what all locks of one [Locker] share. Its zero value works.
type Config struct {
	// Hooks are told what happens; see [Hooks]. The default is to tell nobody.
	Hooks Hooks

	// Hasher turns parameters into the last part of keys where [Opts] name no
	// other. The default is SHA-256 cut to 128 bits, in hex.
	Hasher Hasher

	// MaxKeys bounds how many keys this process may hold or wait for at one
	// time; one more gets [ErrQueueFull]. Strangers choose keys, and each one
	// costs memory here and in the store. The default is [DefaultMaxKeys].
	MaxKeys int

	// MaxWaiters limits how many goroutines of this process may wait for one
	// another, for all keys together; the next one gets [ErrQueueFull].
	// [Opts].MaxWaiters is the limit for each key. A waiter costs about 5 KB, most
	// of it the stack of its goroutine. The waiter that is first in line in this
	// process and waits in the store is not counted: MaxKeys limits how many of
	// these there are. The default is [DefaultTotalWaiters], about 250 MB.
	MaxWaiters int

	// CloseTimeout is how long [Locker.Close] waits for holders to release
	// their leases, whose contexts it has cancelled. The default is
	// [DefaultCloseTimeout].
	CloseTimeout time.Duration

	// Holder is the name of this process for people: Inspect and errors show it
	// with the locks that the process holds ("held by web-3/1432"). It has no effect
	// on locking. It consists of at most 64 letters, digits and "-._/". The default
	// is the host name and the process id; "-" means no name.
	Holder string

	// HandOvers is how often a lock may pass from one holder in this process to
	// the next without going back to the store, which is far faster but keeps
	// other processes waiting. Each is an acquisition of its own, with a token
	// of its own. The default is [DefaultHandOvers]; -1 is never.
	HandOvers int

	// HandOverTime is for how long, counted from when the store granted it, a
	// lock may be handed over; what is held then is held to its end. The default
	// is [DefaultHandOverTime].
	HandOverTime time.Duration
}

func (c *Config) bounds() bounds { return bounds{count: c.HandOvers, time: c.HandOverTime} }

// withDefaults fills in the zero fields and panics for those that make no
// sense.
func (c Config) withDefaults() Config {
	switch {
	case c.MaxKeys < 0:
		panic("distlock: Config.MaxKeys is negative: " + strconv.Itoa(c.MaxKeys))
	case c.MaxWaiters < 0:
		panic("distlock: Config.MaxWaiters is negative: " + strconv.Itoa(c.MaxWaiters))
	case c.CloseTimeout < 0:
		panic("distlock: Config.CloseTimeout is negative: " + c.CloseTimeout.String())
	case len(c.Holder) > owner.MaxHolder:
		panic("distlock: Config.Holder is longer than " + strconv.Itoa(owner.MaxHolder) + " bytes: " + strconv.QuoteToASCII(c.Holder))
	case strings.ContainsFunc(c.Holder, owner.Excluded):
		panic("distlock: Config.Holder has other characters than letters, digits and -._/: " + strconv.QuoteToASCII(c.Holder))
	case c.HandOvers < -1:
		panic("distlock: Config.HandOvers is below -1: " + strconv.Itoa(c.HandOvers))
	case c.HandOverTime < 0:
		panic("distlock: Config.HandOverTime is negative: " + c.HandOverTime.String())
	}
	if c.MaxKeys == 0 {
		c.MaxKeys = DefaultMaxKeys
	}
	if c.MaxWaiters == 0 {
		c.MaxWaiters = DefaultTotalWaiters
	}
	if c.CloseTimeout == 0 {
		c.CloseTimeout = DefaultCloseTimeout
	}
	switch c.Holder {
	case "":
		c.Holder = owner.DefaultHolder()
	case "-":
		c.Holder = ""
	}
	if c.HandOverTime == 0 {
		c.HandOverTime = DefaultHandOverTime
	}
	switch c.HandOvers {
	case 0:
		c.HandOvers = DefaultHandOvers
	case -1:
		c.HandOvers = 0
	}
	return c
}
