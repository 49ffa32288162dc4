package testkit

import (
	"time"
	"unsafe"
)

// Suspend returns t with only its wall clock moved by d, as after a suspension of the
// machine: the monotonic clock stood still.
func Suspend(t time.Time, d time.Duration) time.Time {
	moved := t.Add(d)
	// time.Time is {wall uint64; ext int64; loc *Location}, where ext is the monotonic
	// reading.
	(*struct {
		wall uint64
		ext  int64
	})(unsafe.Pointer(&moved)).ext -= int64(d)
	return moved
}
