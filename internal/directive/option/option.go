// Package option reads those options of a directive that are fields of
// [distlock.Opts] from their text. It is apart from the rest of the grammar because
// programs that were woven read them, too, when they start, and shall not have a Go
// parser in them for it.
package option

import (
	"errors"
	"strconv"
	"time"

	"github.com/distlock-go/distlock"
)

// Option is one of them.
type Option struct {
	Name string
	Flag bool // may stand without a value, and means true then

	// Set sets the field of o. The error says what is wrong with the value, and
	// does not name the option.
	Set func(o *distlock.Opts, value string) error
}

var all = []Option{
	{Name: "prefix", Set: text(func(o *distlock.Opts) *string { return &o.Prefix })},
	{Name: "value", Set: text(func(o *distlock.Opts) *string { return &o.Value })},
	{Name: "paramLock", Set: flag(func(o *distlock.Opts) *bool { return &o.ParamLock }), Flag: true},
	{Name: "keyTimeout", Set: duration(func(o *distlock.Opts) *time.Duration { return &o.KeyTimeout })},
	{Name: "retryCount", Set: number(func(o *distlock.Opts) *int { return &o.RetryCount })},
	{Name: "retryInterval", Set: duration(func(o *distlock.Opts) *time.Duration { return &o.RetryInterval })},
	{Name: "maxWait", Set: duration(func(o *distlock.Opts) *time.Duration { return &o.MaxWait })},
	{Name: "mode", Set: setMode},
	{Name: "permits", Set: number(func(o *distlock.Opts) *int { return &o.Permits })},
	{Name: "maxHold", Set: duration(func(o *distlock.Opts) *time.Duration { return &o.MaxHold })},
	{Name: "minHold", Set: duration(func(o *distlock.Opts) *time.Duration { return &o.MinHold })},
	{Name: "fencing", Set: flag(func(o *distlock.Opts) *bool { return &o.Fencing }), Flag: true},
	{Name: "noWatchdog", Set: flag(func(o *distlock.Opts) *bool { return &o.NoWatchdog }), Flag: true},
	{Name: "maxWaiters", Set: number(func(o *distlock.Opts) *int { return &o.MaxWaiters })},
}

// Find returns the option of that name.
func Find(name string) (Option, bool) {
	for _, o := range all {
		if o.Name == name {
			return o, true
		}
	}
	return Option{}, false
}

func text(field func(*distlock.Opts) *string) func(*distlock.Opts, string) error {
	return func(o *distlock.Opts, value string) error {
		*field(o) = value
		return nil
	}
}

func flag(field func(*distlock.Opts) *bool) func(*distlock.Opts, string) error {
	return func(o *distlock.Opts, value string) error {
		switch value {
		case "", "true":
			*field(o) = true
		case "false":
		default:
			return errors.New(strconv.Quote(value) + " is neither true nor false")
		}
		return nil
	}
}

func number(field func(*distlock.Opts) *int) func(*distlock.Opts, string) error {
	return func(o *distlock.Opts, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil {
			return errors.New(strconv.Quote(value) + " is no whole number")
		}
		*field(o) = n
		return nil
	}
}

func duration(field func(*distlock.Opts) *time.Duration) func(*distlock.Opts, string) error {
	return func(o *distlock.Opts, value string) error {
		d, err := time.ParseDuration(value)
		if err != nil {
			if _, err := strconv.Atoi(value); err == nil {
				return errors.New(value + " has no unit: write " + value + "ms or " + value + "s")
			}
			return errors.New(strconv.Quote(value) + " is no duration, such as 10s, 200ms or 1m30s")
		}
		*field(o) = d
		return nil
	}
}

func setMode(o *distlock.Opts, value string) error {
	switch value {
	case distlock.Exclusive.String():
		o.Mode = distlock.Exclusive
	case distlock.Shared.String():
		o.Mode = distlock.Shared
	default:
		return errors.New(strconv.Quote(value) + " is neither exclusive nor shared")
	}
	return nil
}
