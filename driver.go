package distlock

import "github.com/distlock-go/distlock/driver"

// Mode says whether a key can have several holders at the same time.
type Mode = driver.Mode

// The modes. The zero value is the one that excludes all others.
const (
	Exclusive = driver.Exclusive // one holder
	Shared    = driver.Shared    // any number of readers
)

// HeldError says which holder has the key, as far as the store knows. It is part of
// errors that match [ErrNotAcquired].
type HeldError = driver.HeldError

// KeyInfo is what [Locker.Inspect] returns for a key.
type KeyInfo = driver.KeyInfo

// HolderInfo is what [Locker.Inspect] returns for a holder.
type HolderInfo = driver.HolderInfo
