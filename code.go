package distlock

import (
	"errors"
	"strconv"
)

// Code is the kind of an error. Metrics may use its name as a label.
type Code int

// The codes. If several fit an error, CodeOf returns the first of them: doubt about what
// was done comes before what must be changed, and that before what may pass. From
// CodeOptions to CodeNotAcquired the function did not run, if this is the error of its
// acquisition.
const (
	CodeOK          Code = iota // nil
	CodeLost                    // ErrLost: if the function ran, its outcome is in doubt
	CodeOptions                 // options or arguments were refused; the program is wrong
	CodeKey                     // ErrKey: the request is wrong
	CodeUpgrade                 // ErrUpgrade: the program is wrong
	CodeNoFencing               // ErrNoFencing: the backend cannot do what Fencing demands
	CodeClosed                  // ErrClosed: this process shuts down, another may do the work
	CodeUnavailable             // ErrUnavailable
	CodeQueueFull               // ErrQueueFull
	CodeNotAcquired             // ErrNotAcquired
	CodeOther                   // none of these: for example the function's own error
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
	CodeQueueFull:   {"queue_full", ErrQueueFull},
	CodeNotAcquired: {"not_acquired", ErrNotAcquired},
	CodeOther:       {"other", nil},
}

// CodeOf returns the code of err: exactly one, whatever err wraps. The error of the
// locked function counts too, for example that of another lock.
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

// isFault reports whether another attempt fails too, until the program or the request is changed.
func (c Code) isFault() bool { return CodeOptions <= c && c <= CodeNoFencing }

// String returns the name of the code in lower case, such as "not_acquired".
func (c Code) String() string {
	if c < 0 || int(c) >= len(codes) {
		return "Code(" + strconv.Itoa(int(c)) + ")"
	}
	return codes[c].name
}
