package distlock

import (
	"fmt"

	"github.com/distlock-go/distlock/internal/keyenc"
	"github.com/distlock-go/distlock/internal/text"
)

// KeyFormat makes a whole key, for a lock that another program takes under a key that it
// makes by a rule of its own; package javakey has the rules of Java libraries. The base is
// Prefix + Value. The parameters are the request, or the part of it that [Opts].Params
// selects; several are a []any. They are nil without [Opts].ParamLock.
//
// The key must depend on the arguments alone. A KeyFormat is called concurrently and must
// not block. Requests with equal keys share a lock, and clients choose parameters: texts
// that are joined without care are a lock of another request. If a KeyFormat fails
// or panics, or makes a key that a lock cannot have, the call ends with [ErrKey].
type KeyFormat func(base string, params any) (key string, err error)

// call returns a valid key, or an error that says what the function did.
func (f KeyFormat) call(base string, params any) (key string, err error) {
	defer func() {
		if r := recover(); r != nil {
			key, err = "", fmt.Errorf("panicked: %w", keyenc.Panicked(r))
		}
	}()
	key, err = f(base, params)
	if err != nil {
		return "", fmt.Errorf("failed: %w", err)
	}
	if fault := keyFault(key); fault != "" {
		return "", fmt.Errorf("made the key %s, which %s", text.Quote(key), fault)
	}
	return key, nil
}

// validate checks f, without parameters if the key has none.
func (f KeyFormat) validate(base string, o *Opts) error {
	if o.Hasher != nil {
		return fieldErrorf("Hasher", "is set but %v makes the whole key", fieldName("KeyFormat"))
	}
	if o.ParamLock || base != "" && keyFault(base) != "" { // reported elsewhere
		return nil
	}
	if _, err := f.call(base, nil); err != nil {
		return fieldErrorf("KeyFormat", "%v", err)
	}
	return nil
}
