package distlock

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/distlock-go/distlock/internal/keyenc"
	"github.com/distlock-go/distlock/internal/text"
)

// KeyBuilder makes full keys of parameters: Prefix + Value and, with [Opts].ParamLock,
// ":" and a text for the parameters. It is for authors of decorators, and safe for
// concurrent use.
//
// Equal parameters have one key in every process; different ones have different keys.
// Integers are equal by value, whatever their type. A struct is its exported fields,
// less those tagged `lock:"-"`; if fields are tagged `lock:"key"`, it is only these.
// Pointers are followed. A type with LockKey() string or MarshalText is what the method
// returns. Functions, channels, contexts, NaN, opaque protobuf messages and values that
// are too large are refused. The page docs/keys.md has all rules.
type KeyBuilder struct {
	base   string
	fixed  string // the key without parameters; "" if they take part
	params Selector
	format KeyFormat
	hasher Hasher // nil: the digest, or format makes the key
}

// NewKeyBuilder returns a KeyBuilder for o. It panics if o is invalid.
func NewKeyBuilder(o Opts) *KeyBuilder {
	if err := o.Validate(); err != nil {
		panic(err.Error())
	}
	b := &KeyBuilder{base: o.Prefix + o.Value, params: o.Params, format: o.KeyFormat}
	switch {
	case !o.ParamLock && b.format != nil:
		var err error
		if b.fixed, err = b.format.call(b.base, nil); err != nil {
			panic(b.refuse(fmt.Errorf("KeyFormat %w", err)).Error())
		}
	case !o.ParamLock:
		b.fixed = b.base
	default:
		b.hasher = o.Hasher
	}
	return b
}

// Key returns the full key for params, which it ignores without [Opts].ParamLock. Any
// error wraps [ErrKey]; [Skip] is an error.
func (b *KeyBuilder) Key(params any) (string, error) {
	key, skipped, err := b.build(params)
	if skipped {
		return "", b.refuse(errors.New("Skip is not a parameter"))
	}
	return key, err
}

// build is Key for callers that can run without a lock: it reports whether params,
// or the part that Params selects, is [Skip].
func (b *KeyBuilder) build(params any) (key string, skipped bool, err error) {
	if params == Skip {
		return "", true, nil
	}
	if fault, ok := params.(keyenc.Fault); ok {
		return "", false, fault.Err
	}
	if b.fixed != "" {
		return b.fixed, false, nil
	}
	if b.params.isSet() {
		if err := b.params.accepts(reflect.TypeOf(params)); err != nil {
			return "", false, b.refuse(err)
		}
		if params, err = b.params.call(params); err != nil {
			return "", false, b.refuse(err)
		}
		if params == Skip {
			return "", true, nil
		}
	}
	if b.format != nil {
		if key, err = b.format.call(b.base, params); err != nil {
			return "", false, b.refuse(fmt.Errorf("KeyFormat %w", err))
		}
		return key, false, nil
	}

	// No defer: if a method of the caller ends the goroutine, the encoder must not go
	// back to its pool.
	e := keyenc.NewEncoder()
	if err := e.Encode(params); err != nil {
		e.Free()
		return "", false, b.refuse(err)
	}
	dst := append(append(e.KeyBuffer(), b.base...), ':')
	if b.hasher == nil {
		key = string(keyenc.AppendDigest(dst, e.Encoded()))
	} else if key, err = b.hash(dst, e.Encoded()); err != nil {
		return "", false, err
	}
	e.Free()
	return key, false, nil
}

// hash calls the Hasher, and checks its result.
func (b *KeyBuilder) hash(dst, encoded []byte) (key string, err error) {
	defer func() {
		if r := recover(); r != nil {
			key, err = "", b.refuse(fmt.Errorf("the Hasher panicked: %w", keyenc.Panicked(r)))
		}
	}()
	key = string(b.hasher(dst, encoded))
	return key, b.checkHashed(key)
}

// checkHashed checks a key from a Hasher.
func (b *KeyBuilder) checkHashed(key string) error {
	rest, ok := strings.CutPrefix(key, b.base)
	switch {
	case !ok || rest == "" || rest[0] != ':':
		return b.refuse(errors.New("the Hasher did not append to what it was given"))
	case len(rest) == 1:
		return b.refuse(errors.New("the Hasher appended nothing"))
	default:
		return checkKey(key)
	}
}

// checkRequest returns an error if requests of type t can never have a key, so that
// decorators can refuse the type when they are made. It cannot see through
// interfaces.
func (b *KeyBuilder) checkRequest(t reflect.Type) error {
	switch {
	case b.fixed != "":
		return nil
	case b.params.isSet():
		return b.params.accepts(t)
	case b.format != nil: // it may take what the encoding refuses
		return nil
	default:
		return keyenc.CheckType(t)
	}
}

func (b *KeyBuilder) refuse(err error) error {
	return &Error{Op: "key", Err: fmt.Errorf("%w: parameters of %s: %w", ErrKey, text.Quote(b.base), err)}
}

// validateBase checks Prefix + Value, which may be empty.
func validateBase(base string) error {
	if base == "" {
		return nil
	}
	if fault := keyFault(base); fault != "" {
		return fieldErrorf("Prefix+Value", "%s %s", text.Quote(base), fault)
	}
	return nil
}

// validateRoom checks that base leaves room for the text that h appends.
func validateRoom(base string, h Hasher) error {
	if most := max(keyenc.MaxKeyLen-len(":")-h.textLen(), 0); len(base) > most && len(base) <= keyenc.MaxKeyLen {
		return fieldErrorf("Prefix+Value", "%s is %d bytes long and leaves no room for the parameters: at most %d with this Hasher",
			text.Quote(base), len(base), most)
	}
	return nil
}

// checkKey checks a full key. It allocates only if it refuses the key.
func checkKey(key string) error {
	if fault := keyFault(key); fault != "" {
		return &Error{Op: "key", Key: key, Err: fmt.Errorf("%w: it %s", ErrKey, fault)}
	}
	return nil
}

// keyFault returns what is wrong with key, or "". It refuses characters that have a
// meaning elsewhere: white space and control characters end words and lines in
// protocols, logs and shells. Braces choose the slot in Redis Cluster, and so a key may
// have them around one hash tag only.
func keyFault(key string) string {
	switch {
	case key == "":
		return "is empty"
	case len(key) > keyenc.MaxKeyLen:
		return "is " + strconv.Itoa(len(key)) + " bytes long: at most " + strconv.Itoa(keyenc.MaxKeyLen)
	}
	braces := false
	for i := range len(key) {
		switch c := key[i]; {
		case c >= utf8.RuneSelf:
			return keyFaultUnicode(key, i)
		case c <= ' ' || c == 0x7f:
			return runeFault(rune(c), i)
		case c == '{' || c == '}':
			braces = true
		}
	}
	if braces {
		return tagFault(key)
	}
	return ""
}

func keyFaultUnicode(key string, from int) string {
	if !utf8.ValidString(key) {
		return "is not valid UTF-8"
	}
	for i, r := range key[from:] {
		if fault := runeFault(r, from+i); fault != "" {
			return fault
		}
	}
	return tagFault(key)
}

// tagFault returns what is wrong with the braces of a key, or "".
func tagFault(key string) string {
	opening, closing := strings.Count(key, "{"), strings.Count(key, "}")
	if opening == 0 && closing == 0 {
		return ""
	}
	if opening != 1 || closing != 1 || strings.IndexByte(key, '}') < strings.IndexByte(key, '{')+2 {
		return "has braces that are not one hash tag, such as {order}"
	}
	return ""
}

func runeFault(r rune, at int) string {
	var what string
	switch {
	case unicode.IsSpace(r):
		what = "white space"
	case unicode.IsControl(r):
		what = "a control character"
	default:
		return ""
	}
	return "has " + what + " at byte " + strconv.Itoa(at)
}
