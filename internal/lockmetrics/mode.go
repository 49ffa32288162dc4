package lockmetrics

import "github.com/distlock-go/distlock"

// Mode is how a lock is held: as its text says.
type Mode uint8

// The modes.
const (
	Exclusive Mode = iota
	Shared
	Permits
)

// ModeOf returns the mode of a lock.
func ModeOf(i *distlock.LockInfo) Mode {
	switch {
	case i.Permits > 0:
		return Permits
	case i.Mode == distlock.Shared:
		return Shared
	default:
		return Exclusive
	}
}

// String returns the text of the label.
func (m Mode) String() string { return [...]string{"exclusive", "shared", "permits"}[m] }
