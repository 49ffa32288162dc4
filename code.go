package distlock

import (
	"errors"
	"strconv"
)

// Code is the kind of an error: see [CodeOf].
type Code int

// The codes. An error may match several sentinels: an acquisition that ends while the
// backend fails is [ErrNotAcquired] and [ErrUnavailable]. CodeOf then returns the first
// code of this list that fits, so what is in doubt comes before what must be changed,
// and that before what may pass.
const (
	// CodeOK: nil, no error.
	CodeOK Code = iota

	// CodeLost: [ErrLost]. If the function ran, its outcome is in doubt.
	CodeLost

	// CodeOptions: the options or arguments were refused, and [Error].Op is "options".
	// The program is wrong.
	CodeOptions

	// CodeKey: [ErrKey]. The request is wrong.
	CodeKey

	// CodeUpgrade: [ErrUpgrade]. The program is wrong.
	CodeUpgrade

	// CodeNoFencing: [ErrNoFencing]. The backend cannot do what Fencing demands.
	CodeNoFencing

	// CodeClosed: [ErrClosed]. This process shuts down; another one may do the work.
	CodeClosed

	// CodeUnavailable: [ErrUnavailable]. The function did not run if this is the error
	// of an acquisition.
	CodeUnavailable

	// CodeForeign: [ErrForeign]. The function did not run.
	CodeForeign

	// CodeQueueFull: [ErrQueueFull]. The function did not run.
	CodeQueueFull

	// CodeNotAcquired: [ErrNotAcquired]. The function did not run.
	CodeNotAcquired

	// CodeOther: not an error of a lock, for example the function's own.
	CodeOther
)

// codes has the name of each code, and the error that it stands for.
var codes = [...]struct {
	name string
	err  error
}{
	CodeOK:          {"ok", nil},
	CodeLost:        {"lost", ErrLost},
	CodeOptions:     {"options", errOptions},
	CodeKey:         {"key", ErrKey},
	CodeUpgrade:     {"upgrade", ErrUpgrade},
	CodeNoFencing:   {"no_fencing", ErrNoFencing},
	CodeClosed:      {"closed", ErrClosed},
	CodeUnavailable: {"unavailable", ErrUnavailable},
	CodeForeign:     {"foreign", ErrForeign},
	CodeQueueFull:   {"queue_full", ErrQueueFull},
	CodeNotAcquired: {"not_acquired", ErrNotAcquired},
	CodeOther:       {"other", nil},
}

// CodeOf returns the code of err: exactly one, whatever err wraps. Use it to map errors
// to answers or metric labels. A single question is as well asked with [errors.Is].
//
// A function's own error keeps its place in the error of a locked call. If it comes from
// another lock, it counts like the error of this one.
func CodeOf(err error) Code {
	if err == nil {
		return CodeOK
	}
	for c := CodeOK + 1; c < CodeOther; c++ {
		if errors.Is(err, codes[c].err) {
			return c
		}
	}
	return CodeOther
}

// mayPass reports whether another attempt, in this process or another, may succeed.
func (c Code) mayPass() bool { return CodeClosed <= c && c <= CodeNotAcquired }

// String returns the name of the code in lower case, such as "not_acquired".
func (c Code) String() string {
	if c < 0 || int(c) >= len(codes) {
		return "Code(" + strconv.Itoa(int(c)) + ")"
	}
	return codes[c].name
}
