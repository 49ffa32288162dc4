package torture

import "golang.org/x/sys/unix"

// now returns the time in nanoseconds on the monotonic clock, which all processes of
// the machine share.
func now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}
