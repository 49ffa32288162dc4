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

// Hasher turns encoded parameters into the last part of a key. [Plain], [Keyed]
// and [HasherFunc] make one; the default is SHA-256 cut to 128 bits, in hex.
//
// The result must depend on the encoding alone, and must be the same in every
// process. Nobody may be able to find two encodings with one text: parameters come
// from strangers, and a collision blocks the lock of another request.
type Hasher interface {
	// AppendHash appends the text for the encoding to dst and returns the extended
	// slice. It is called concurrently and must not block. It must neither change
	// nor keep the two slices. A key that is over 200 bytes, is not UTF-8, or has
	// white space, control characters or braces is refused with [ErrKey]. So is an
	// empty text.
	AppendHash(dst, encoded []byte) []byte
}

// KeyBuilder turns parameters into full keys: Prefix + Value and, with
// [Opts].ParamLock, ":" and a text for the parameters. It is for authors of
// decorators. It is safe for concurrent use.
//
// # What makes two parameters the same
//
// Parameters are encoded by type and value, and the encoding is hashed. Equal
// parameters have one key in every process; different ones have different keys.
//
//   - Integers are compared by value, whatever their type: int32(5), uint8(5)
//     and a type Age int of 5 are equal. A float is never equal to an integer; -0
//     is 0; NaN is refused.
//   - A string is its bytes: "5" is not 5, and neither case nor Unicode form is
//     normalised. Do that in [By] if two spellings mean one thing. []byte and
//     byte arrays are equal to each other and to nothing else.
//   - Pointers and interfaces are followed. A nil pointer or interface is nil,
//     which differs from "" and 0.
//   - Slices and arrays are lists. Several parameters are a list too, such as
//     []any{"a", 5}. A list of one element differs from the element. Nil slices
//     and maps are empty, as in JSON: null and [] must not be two locks.
//   - Maps have no order.
//   - Structs are their exported fields, by name. The order of the fields and the
//     name of the type do not matter. An embedded struct is a field named after
//     its type, even if the type is unexported. Left out are other unexported
//     fields, fields that are a [context.Context], and fields tagged `lock:"-"`.
//     If fields are tagged `lock:"key"`, promoted ones included, only these take
//     part. A struct with a single such field is encoded as that field, so that an
//     ID has one key in all requests. A struct without a field that takes part is
//     refused. So is a struct that embeds an unexported type with one of the
//     methods below, because it cannot be called.
//   - A type with a method LockKey() string is the string that it returns, which
//     must not be empty. This precedes all other rules. A nil pointer is nil, and
//     its method is not called.
//   - A [time.Time] is its instant: equal instants in different zones are equal.
//   - A type with MarshalText is the string that it returns, except for structs
//     that have `lock` tags or embed a type with MarshalText: their method may be
//     a promoted one, which ignores the other fields.
//   - Generated protobuf messages are structs. Their internal and unknown fields
//     and extensions are left out; a oneof is the field that is set. Messages of
//     the opaque API show no fields and are refused: name their parts in [By].
//   - Functions, channels, uintptr, unsafe pointers and contexts are refused. So
//     are values that are nested deeper than 64 levels, such as cycles, values
//     over 1 MiB when encoded, and values whose method panics.
type KeyBuilder struct {
	base   string
	params Selector
	hasher Hasher // nil: no parameters in the key
	sound  bool   // the hasher is of this package, so its text needs no check
}

// NewKeyBuilder returns a KeyBuilder for o. It panics if o is not valid; see
// [Opts.Validate].
func NewKeyBuilder(o Opts) *KeyBuilder {
	if err := o.Validate(); err != nil {
		panic(err.Error())
	}
	b := &KeyBuilder{base: o.Prefix + o.Value, params: o.Params}
	if o.ParamLock {
		b.hasher = o.Hasher
		if b.hasher == nil {
			b.hasher = digest{}
		}
		_, b.sound = b.hasher.(boundedHasher)
	}
	return b
}

// Key returns the full key for params, which it ignores without [Opts].ParamLock.
// Any error wraps [ErrKey]: the parameters cannot take part in a key, [Opts].Params
// takes another type, params is [Skip], or the Hasher's text is not acceptable.
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
	if b.hasher == nil {
		return b.base, false, nil
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

	// No defer: if a method of the caller ends the goroutine, the encoder must not go
	// back to its pool.
	e := keyenc.NewEncoder()
	if err := e.Encode(params); err != nil {
		e.Free()
		return "", false, b.refuse(err)
	}
	dst := append(append(e.KeyBuffer(), b.base...), ':')
	if b.sound {
		key = string(b.hasher.AppendHash(dst, e.Encoded()))
	} else if key, err = b.hash(dst, e.Encoded()); err != nil {
		return "", false, err
	}
	e.Free()
	return key, false, nil
}

// hash calls a Hasher of the user, and checks its result.
func (b *KeyBuilder) hash(dst, encoded []byte) (key string, err error) {
	defer func() {
		if r := recover(); r != nil {
			key, err = "", b.refuse(fmt.Errorf("the Hasher %T panicked: %w", b.hasher, keyenc.Panicked(r)))
		}
	}()
	key = string(b.hasher.AppendHash(dst, encoded))
	return key, b.checkHashed(key)
}

// checkHashed checks a key from a Hasher of the user.
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
	case b.hasher == nil:
		return nil
	case b.params.isSet():
		return b.params.accepts(t)
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

// validateRoom checks that base leaves room for the text that h appends. The length
// of a text from a Hasher of the user is known only when it is called.
func validateRoom(base string, h Hasher) error {
	if h == nil {
		h = digest{}
	}
	need := 1
	if bounded, ok := h.(boundedHasher); ok {
		need = bounded.maxLen()
	}
	if most := keyenc.MaxKeyLen - len(":") - need; len(base) > most && len(base) <= keyenc.MaxKeyLen {
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
// meaning elsewhere: braces choose the slot in Redis Cluster; white space and control
// characters end words and lines in protocols, logs and shells.
func keyFault(key string) string {
	switch {
	case key == "":
		return "is empty"
	case len(key) > keyenc.MaxKeyLen:
		return "is " + strconv.Itoa(len(key)) + " bytes long: at most " + strconv.Itoa(keyenc.MaxKeyLen)
	}
	for i := range len(key) {
		switch c := key[i]; {
		case c >= utf8.RuneSelf:
			return keyFaultUnicode(key, i)
		case c <= ' ' || c == '{' || c == '}' || c == 0x7f:
			return runeFault(rune(c), i)
		}
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
	return ""
}

func runeFault(r rune, at int) string {
	var what string
	switch {
	case unicode.IsSpace(r):
		what = "white space"
	case unicode.IsControl(r):
		what = "a control character"
	case r == '{' || r == '}':
		what = "a brace"
	default:
		return ""
	}
	return "has " + what + " at byte " + strconv.Itoa(at)
}
