package lockmetrics

import "github.com/distlock-go/distlock"

// ModeOf returns how a lock is held, as the text of a label.
func ModeOf(i *distlock.LockInfo) string {
	switch {
	case i.Permits > 0:
		return "permits"
	case i.Mode == distlock.Shared:
		return "shared"
	default:
		return "exclusive"
	}
}
