package optfield

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/distlock-go/distlock"
)

// Set sets the field of o to the value that text has in a directive. The error says
// what is wrong with the text, and does not name the field.
func (f Field) Set(o *distlock.Opts, text string) error {
	if f.Of == nil {
		return errors.New("its value is Go code")
	}
	switch p := f.Of(o).(type) {
	case *string:
		*p = text
	case *bool:
		return setBool(p, text)
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return errors.New(strconv.Quote(text) + " is not a whole number")
		}
		*p = n
	case *time.Duration:
		return setDuration(p, text)
	case *distlock.Mode:
		return setMode(p, text)
	case *distlock.Reentry:
		i := slices.Index(Reentries[:], text)
		if i < 0 {
			return errors.New(strconv.Quote(text) + " is neither all nor one nor none")
		}
		*p = distlock.Reentry(i)
	}
	return nil
}

// Reentries are the texts of the kinds of re-entry, in their order.
var Reentries = [...]string{distlock.ReentryAll: "all", distlock.ReentryOne: "one", distlock.ReentryNone: "none"}

func setBool(p *bool, text string) error {
	switch text {
	case "", "true":
		*p = true
	case "false":
		*p = false
	default:
		return errors.New(strconv.Quote(text) + " is neither true nor false")
	}
	return nil
}

func setDuration(p *time.Duration, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		if _, err := strconv.Atoi(text); err == nil {
			return errors.New(text + " has no unit: write " + text + "ms or " + text + "s")
		}
		return errors.New(strconv.Quote(text) + " is not a duration, such as 10s, 200ms or 1m30s")
	}
	*p = d
	return nil
}

func setMode(p *distlock.Mode, text string) error {
	for _, m := range []distlock.Mode{distlock.Exclusive, distlock.Shared} {
		if text == m.String() {
			*p = m
			return nil
		}
	}
	return errors.New(strconv.Quote(text) + " is neither exclusive nor shared")
}
