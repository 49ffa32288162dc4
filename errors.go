package distlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/text"
)

// The errors of this package, which arrive wrapped in an [*Error]. Ask for one of them
// with [errors.Is]; where several may match, use [CodeOf].
//
// A wait that ends is ErrNotAcquired, and ErrUnavailable if the store fails or owes an answer.
// If the caller's context has ended, the error of any call matches the context's error and its
// cause; no other error of a context matches. A [*HeldError] names the holder, if known.
var (
	ErrNotAcquired = driver.ErrNotAcquired                             // another owner holds the lock, and the wait ended
	ErrForeign     = driver.ErrForeign                                 // an ErrNotAcquired: the key contains something else; the error names its type
	ErrLost        = driver.ErrLost                                    // the lease expired or reached MaxHold, or the store says that the key has another owner
	ErrKey         = errors.New("invalid lock key")                    // the parameters or the key are not acceptable; nothing was sent
	ErrQueueFull   = errors.New("too many waiters in this process")    // the limit is in the error: Config.MaxWaiters, or 1,048,576 keys
	ErrUnavailable = errors.New("lock backend unavailable")            // the backend failed; whether the lock is free is unknown
	ErrClosed      = errors.New("locker closed")                       // the Locker was closed
	ErrNoFencing   = errors.New("lock backend gives no fencing token") // Opts.Fencing demands one
	ErrUpgrade     = errors.New("lock cannot be upgraded")             // the caller holds the key as a reader or with a permit; ask for the stronger lock first
	ErrReentry     = errors.New("the caller holds the lock already")   // Opts.Reentry refuses to re-enter it, or the lease is in the process that sent the call
)

// Error says which operation failed on which key. It wraps errors of this package, and the
// backend's own if there is one. If a lease was lost, it is joined behind the error of the
// locked function.
type Error struct {
	// Op is for people: "acquire", "hold", "renew", "release", "refresh", "check", "step",
	// "hand off", "commit", "lead", "inspect", "force", "revoke", "ping", "key" or
	// "options".
	Op  string
	Key string // the full key; empty when there is none yet
	Err error

	// RetryAfter suggests when to try again after an acquisition that failed for a reason
	// that may pass; otherwise it is 0. It is the time left of the holder's lease, but at
	// most [Opts].KeyTimeout, or if that is not known, [Opts].RetryInterval.
	RetryAfter time.Duration
}

// Error returns a single line. It quotes the key, and cuts it to 64 bytes.
func (e *Error) Error() string {
	if e.Key == "" {
		return "distlock: " + e.Op + ": " + text.OneLine(e.Err)
	}
	return "distlock: " + e.Op + " " + text.Quote(e.Key) + ": " + text.OneLine(e.Err)
}

// Unwrap returns what went wrong.
func (e *Error) Unwrap() error { return e.Err }

// HeldError says which holder has the key, as far as the store knows. It is part of
// errors that match [ErrNotAcquired].
type HeldError = driver.HeldError

// KeyError says why parameters cannot be made of a request. It wraps [ErrKey].
type KeyError struct {
	Detail string // for the client: should name the part of the request and not its value
	Err    error  // the reason, or nil; the client does not see it
}

// Error returns the detail and the reason.
func (e *KeyError) Error() string {
	if e.Err == nil {
		return ErrKey.Error() + ": " + e.Detail
	}
	return ErrKey.Error() + ": " + e.Detail + ": " + e.Err.Error()
}

// Unwrap returns [ErrKey] and the reason.
func (e *KeyError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrKey}
	}
	return []error{ErrKey, e.Err}
}

// noFunction is the error for a nil function. Nothing is locked for it.
func noFunction(key string) error {
	return &Error{Op: "options", Key: key, Err: errors.New("fn is nil")}
}

// joined is like the error of errors.Join, but its text is a single line.
type joined struct {
	errs []error
	ran  bool // it is the error of a function that ran: see Ran
}

func (e *joined) Error() string {
	texts := make([]string, len(e.errs))
	for i, err := range e.errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (e *joined) Unwrap() []error { return e.errs }

// join puts one error behind another. A lone error comes back as it is, so that == goes on
// working.
func join(first, second error) error {
	switch {
	case second == nil:
		return first
	case first == nil:
		return second
	default:
		return &joined{errs: []error{first, second}}
	}
}

// hasRun returns the error of a function that ran: its own, and behind it what its lock or
// its Undo has to say. It comes back as it is if it says by itself that the function ran, and
// not, for example, if it is the refusal of another lock below.
func hasRun(fnErr error, behind ...error) error {
	errs := slices.DeleteFunc(append([]error{fnErr}, behind...), func(err error) bool { return err == nil })
	switch {
	case len(errs) == 0:
		return nil
	case len(errs) == 1 && Ran(errs[0]):
		return errs[0]
	default:
		return &joined{errs, true}
	}
}

// Ran reports whether the function of [Locker.Do], [Call], [Wrap], [Locker.DoAll], a Site of
// package wiring or generated code ran, if err is the error of that call. Then its work may be
// done in part or as a whole, and must not be repeated without a look. That nothing ran is
// certain if Ran returns false.
//
// Of [Locker.Lead] it reports whether there was a term, and of [Lease.Step] whether Do was
// called. An error of [Lease.Release], [Lease.Check] or [Lease.Refresh] comes from code that
// runs, and so does one that is not of this package.
func Ran(err error) bool {
	ran, said := true, false
	walk(err, func(err error) bool {
		switch e := err.(type) { //nolint:errorlint // walk unwraps
		case *joined:
			said = e.ran
		case *Error:
			switch e.Op {
			case "acquire", "options", "key", "step":
				ran, said = false, true
			case "hold", "renew", "release", "refresh", "check", "commit", "hand off":
				said = true
			}
		}
		return said
	})
	if said {
		return ran
	}
	code := CodeOf(err)
	return code == CodeOK || code == CodeLost || code == CodeOther
}

// walk calls visit for err and all errors in it, in the order of errors.Is, until visit
// returns true, and reports whether it did.
func walk(err error, visit func(error) bool) bool {
	if err == nil {
		return false
	}
	if visit(err) {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // this is how to unwrap
	case interface{ Unwrap() error }:
		return walk(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), func(err error) bool { return walk(err, visit) })
	default:
		return false
	}
}

// unavailable returns the error of a request that the store has not answered, as err says.
func unavailable(err error) error {
	switch err {
	case nil:
		return ErrUnavailable
	case context.Canceled, context.DeadlineExceeded: //nolint:errorlint // one that says more is kept
		err = errNoAnswer
	}
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, storeError{err})
}

// errNoAnswer is for a store that says nothing.
var errNoAnswer = errors.New("no answer")

// storeError is an error of a store. It matches no error of a context: a store has time limits of
// its own, and only the Locker knows whether the context of its caller has ended.
type storeError struct{ error }

func (e storeError) Is(target error) bool {
	return target != context.Canceled && target != context.DeadlineExceeded && errors.Is(e.error, target)
}

func (e storeError) As(target any) bool { return errors.As(e.error, target) }

// unanswered is unavailable for a caller with ctx.
func unanswered(ctx context.Context, err error) error {
	if err = unavailable(err); ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w: %w", endOf(ctx), err)
}

// endOf returns the error of a context that has ended, and its cause.
func endOf(ctx context.Context) error {
	end, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, end) {
		return cause
	}
	return fmt.Errorf("%w: %w", end, cause)
}

// fieldError says what is wrong with a field of [Opts]. Names of fields are apart
// from the rest of the text. A user may know the field by another name: in a
// directive, on the command line or in a .proto file. Package internal/optfield
// translates them.
type fieldError struct {
	field  string // two fields that make one text are joined by "+"
	format string // of what is wrong with it
	args   []any  // a fieldName among them is translated too
}

// fieldName is the name of a field of [Opts].
type fieldName string

func fieldErrorf(field, format string, args ...any) *fieldError {
	return &fieldError{field, format, args}
}

func (e *fieldError) Error() string {
	return e.Rename(func(field string) string { return field })
}

// Fields returns the names of the fields.
func (e *fieldError) Fields() []string { return strings.Split(e.field, "+") }

// Rename returns the text of the error with other names for all fields in it.
func (e *fieldError) Rename(name func(field string) string) string {
	names := e.Fields()
	for i := range names {
		names[i] = name(names[i])
	}
	args := make([]any, len(e.args))
	for i, arg := range e.args {
		if field, ok := arg.(fieldName); ok {
			arg = name(string(field))
		}
		args[i] = arg
	}
	return strings.Join(names, "+") + " " + fmt.Sprintf(e.format, args...)
}

// Code is the kind of an error. Metrics may use its name as a label.
type Code int

// The codes. If several fit an error, CodeOf returns the first of them: doubt about what
// was done comes before what must be changed, and that before what may pass. [Ran] says
// whether the function ran: from CodeOptions to CodeNotAcquired it did, if the error is that
// of another lock, which the function has returned.
const (
	CodeOK          Code = iota // nil
	CodeLost                    // ErrLost: the outcome is in doubt
	CodeOptions                 // options or arguments were refused; the program is wrong
	CodeKey                     // ErrKey: the request is wrong
	CodeUpgrade                 // ErrUpgrade: the program is wrong
	CodeReentry                 // ErrReentry: the program is wrong
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
	CodeOptions:     {"options", nil}, // see isOptions
	CodeKey:         {"key", ErrKey},
	CodeUpgrade:     {"upgrade", ErrUpgrade},
	CodeReentry:     {"reentry", ErrReentry},
	CodeNoFencing:   {"no_fencing", ErrNoFencing},
	CodeClosed:      {"closed", ErrClosed},
	CodeUnavailable: {"unavailable", ErrUnavailable},
	CodeQueueFull:   {"queue_full", ErrQueueFull},
	CodeNotAcquired: {"not_acquired", ErrNotAcquired},
	CodeOther:       {"other", nil},
}

// CodeOf returns the code of err: exactly one, whatever err wraps. The error of the
// locked function counts too, for example if it comes from another lock.
func CodeOf(err error) Code {
	if err == nil {
		return CodeOK
	}
	for c := CodeOK + 1; c < CodeOther; c++ {
		if c == CodeOptions && walk(err, isOptions) || c != CodeOptions && errors.Is(err, codes[c].err) {
			return c
		}
	}
	return CodeOther
}

func isOptions(err error) bool {
	e, ok := err.(*Error) //nolint:errorlint // walk unwraps
	return ok && e.Op == "options"
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

// errTaken is why a lease is over if the store says so.
var errTaken = fmt.Errorf("%w: the store says that this owner does not have the key", ErrLost)

// taken is errTaken with what else the backend says in lost. That is text only, because the
// cause of a loss must not match other errors.
func taken(lost error) error {
	more, ok := strings.CutPrefix(text.OneLine(lost), ErrLost.Error())
	if !ok {
		more = ": " + more
	}
	return fmt.Errorf("%w%s", errTaken, more)
}
