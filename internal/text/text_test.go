package text_test

import (
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/text"
)

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"one line":                       "one line",
		"  padded\n":                     "padded",
		"first\nsecond":                  "first; second",
		"first\r\n\r\nsecond\rthird\n":   "first; second; third",
		"joined: \n\nempty lines go\n\n": "joined: ; empty lines go",
		"":                               "",
	} {
		if got := text.OneLine(errors.New(in)); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                 "0s",
		123456 * time.Nanosecond:          "123.456µs",
		1499 * time.Microsecond:           "1ms",
		999600 * time.Microsecond:         "1s",
		1500 * time.Microsecond:           "2ms",
		1449 * time.Millisecond:           "1.4s",
		9960 * time.Millisecond:           "10s",
		10500 * time.Millisecond:          "11s",
		90*time.Second + time.Millisecond: "1m30s",
		-5 * time.Second:                  "-5s",
	} {
		if got := text.Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
}
