package distlock

import "time"

// Defaults of [Config].
const (
	DefaultMaxKeys      = 1 << 20
	DefaultCloseTimeout = 5 * time.Second
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

	// CloseTimeout is how long [Locker.Close] waits for holders to release
	// their leases, whose contexts it has cancelled. The default is
	// [DefaultCloseTimeout].
	CloseTimeout time.Duration
}
