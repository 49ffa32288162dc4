//go:build !linux

package torture

import "time"

// now returns the time in nanoseconds on the clock that all processes share.
func now() int64 { return time.Now().UnixNano() }
