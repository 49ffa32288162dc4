package javakey

import (
	"time"

	"github.com/distlock-go/distlock"
)

// AspectDefaults returns what an annotation of the aspect means where it sets nothing: a lease
// of 1 s, three attempts, 500 ms between them, and the key of [Aspect]. Set Prefix and Value,
// and the fields for which the annotation has attributes; its retryCount 0 is RetryCount 0, no
// limit.
func AspectDefaults() distlock.Opts {
	return distlock.Opts{
		KeyTimeout:    time.Second,
		RetryCount:    3,
		RetryInterval: 500 * time.Millisecond,
		KeyFormat:     Aspect,
	}
}
