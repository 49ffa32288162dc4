package rediskit

import (
	"cmp"
	"fmt"
	"time"
)

// Duration returns the value of a field of a Config, or the default if it is zero. It
// panics if the value is less than a millisecond. The panic names the package and the
// field.
func Duration(pkg, field string, value, byDefault time.Duration) time.Duration {
	if value != 0 && value < time.Millisecond {
		panic(fmt.Sprintf("%s: Config.%s: %v is less than a millisecond", pkg, field, value))
	}
	return cmp.Or(value, byDefault)
}
