package distlock

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"

	"github.com/distlock-go/distlock/internal/keyenc"
	"github.com/distlock-go/distlock/internal/text"
)

// Skip in place of parameters means: this call needs no lock. The function runs
// without one, and [FromContext] finds none.
const Skip = keyenc.Skip

// keyBuilder makes full keys of parameters, as [Opts].ParamLock says. It is safe for
// concurrent use.
type keyBuilder struct {
	base   string
	fixed  string // the key without parameters; "" if they take part
	params Selector
	format keyFormat
	hasher Hasher // nil: the text, or format makes the key
}

// newKeyBuilder returns the keyBuilder for opts, or the error of [Opts.Validate].
func newKeyBuilder(opts Opts) (*keyBuilder, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	b := &keyBuilder{base: opts.Prefix + opts.Value, params: opts.Params, format: opts.KeyFormat, hasher: opts.Hasher}
	var err error
	switch {
	case !opts.takesParams() && b.format != nil:
		if b.fixed, err = b.format.call(b.base, nil); err != nil {
			return nil, b.refuse(fmt.Errorf("KeyFormat %w", err))
		}
	case !opts.takesParams():
		b.fixed = b.base
	}
	return b, nil
}

// errSkip is the error of build for [Skip]: the caller may run without a lock.
var errSkip = errors.New("Skip is not a parameter")

// Key returns the full key for params. Any error wraps [ErrKey]; [Skip] is an error.
func (keys *keyBuilder) Key(params any) (string, error) {
	key, _, err := keys.build(params)
	if err == errSkip { //nolint:errorlint // it is not wrapped
		err = keys.refuse(err)
	}
	return key, err
}

// build is Key, but returns errSkip if params, or the part that Params selects, is [Skip].
// It also returns the number of parameters; -1 if that is not known.
func (keys *keyBuilder) build(params any) (key string, parts int, err error) {
	if params == Skip {
		return "", 0, errSkip
	}
	if fault, ok := params.(keyenc.Fault); ok {
		return "", 0, fault.Err
	}
	if keys.format != nil {
		parts = -1
	}
	if keys.fixed != "" {
		return keys.fixed, parts, nil
	}
	if keys.params.isSet() {
		if err := keys.params.accepts(reflect.TypeOf(params)); err != nil {
			return "", 0, keys.refuse(err)
		}
		if params, err = keys.params.call(params); err != nil {
			return "", 0, keys.refuse(err)
		}
		if params == Skip {
			return "", 0, errSkip
		}
	}
	if keys.format != nil {
		if key, err = keys.format.call(keys.base, params); err != nil {
			return "", 0, keys.refuse(fmt.Errorf("KeyFormat %w", err))
		}
		return key, parts, nil
	}

	// No defer: if a method of the caller ends the goroutine, the encoder must not go
	// back to its pool.
	e := keyenc.NewEncoder()
	if err := e.Encode(params); err != nil {
		e.Free()
		return "", 0, keys.refuse(err)
	}
	dst := append(append(e.KeyBuffer(), keys.base...), ':')
	if keys.hasher == nil {
		key = string(keyenc.AppendText(dst, e.Encoded()))
	} else if key, err = keys.hash(dst, e.Encoded()); err != nil {
		return "", 0, err
	}
	parts = e.Parts()
	e.Free()
	return key, parts, nil
}

// hash calls the Hasher, and checks its result.
func (keys *keyBuilder) hash(dst, params []byte) (key string, err error) {
	defer func() {
		if r := recover(); r != nil {
			key, err = "", keys.refuse(fmt.Errorf("the Hasher panicked: %w", keyenc.Panicked(r)))
		}
	}()
	key = string(keys.hasher(dst, params))
	return key, keys.checkHashed(key)
}

// checkHashed checks a key from a Hasher.
func (keys *keyBuilder) checkHashed(key string) error {
	rest, ok := strings.CutPrefix(key, keys.base)
	switch {
	case !ok || rest == "" || rest[0] != ':':
		return keys.refuse(errors.New("the Hasher did not append to what it was given"))
	case len(rest) == 1:
		return keys.refuse(errors.New("the Hasher appended nothing"))
	default:
		return checkKey(key)
	}
}

// checkRequest returns an error if requests of type t can never have a key, so that
// decorators can refuse the type when they are made. It cannot see through
// interfaces.
func (keys *keyBuilder) checkRequest(t reflect.Type) error {
	switch {
	case keys.fixed != "":
		return nil
	case keys.params.isSet():
		return keys.params.accepts(t)
	case keys.format != nil: // it may take what the encoding refuses
		return nil
	default:
		return keyenc.CheckType(t)
	}
}

func (keys *keyBuilder) refuse(err error) error {
	return &Error{Op: "key", Err: fmt.Errorf("%w: parameters of %s: %w", ErrKey, text.Quote(keys.base), err)}
}

// maxShapes limits how many names of locks a Locker remembers, in case a program makes them.
const maxShapes = 1000

// shapes notices locks of one Prefix + Value that never exclude each other, because their
// keys have different numbers of parameters.
type shapes struct {
	mu    sync.Mutex
	first map[string]shape // by Prefix + Value
}

// shape is the number of parameters that a name had first.
type shape struct {
	parts int
	by    *keyBuilder // a list that one site gives may have any length; nil: told already
}

// note logs, once for each name, that a key of one builder has another number of parameters
// than keys of another with the name.
func (n *shapes) note(name string, by *keyBuilder, parts int) {
	n.mu.Lock()
	first, known := n.first[name]
	differs := first.by != nil && first.by != by && first.parts != parts
	switch {
	case differs:
		n.first[name] = shape{}
	case !known && len(n.first) < maxShapes:
		if n.first == nil {
			n.first = map[string]shape{}
		}
		n.first[name] = shape{parts, by}
	}
	n.mu.Unlock()
	if differs {
		slog.Warn("distlock: locks of one Prefix and Value have different numbers of parameters (-1: a key without Value) and do not exclude each other",
			"name", name, "parameters", first.parts, "elsewhere", parts)
	}
}
