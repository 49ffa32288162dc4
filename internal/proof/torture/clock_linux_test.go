package torture

import "golang.org/x/sys/unix"

// now is the time in nanoseconds on the clock that all processes of the machine
// share, which nobody sets.
func now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}
