package main

import (
	"strconv"
	"time"
)

// ms formats d in milliseconds with three digits, or more for large values.
func ms(d time.Duration) string {
	var decimals int
	switch {
	case d < time.Millisecond:
		decimals = 3
	case d < 10*time.Millisecond-5*time.Microsecond:
		decimals = 2
	case d < 100*time.Millisecond-50*time.Microsecond:
		decimals = 1
	default:
		return group(d.Round(time.Millisecond).Milliseconds())
	}
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', decimals, 64)
}

func throughput(perSecond float64) string {
	if perSecond < 1000 {
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return group(int64(perSecond + 0.5))
}

// group formats n with commas between thousands.
func group(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
