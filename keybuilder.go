package distlock

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxKeyLen is the most bytes that a full key may have.
const MaxKeyLen = 200

// Hasher turns encoded parameters into the last part of a key. [Plain], [Keyed]
// and [HasherFunc] make one; the default is SHA-256 cut to 128 bits, in hex.
//
// The result must depend on the encoding alone, and must be the same in every
// process. Different encodings must not give the same text even if somebody
// tries: strangers choose parameters, and whoever finds a collision can block
// another's lock.
type Hasher interface {
	// AppendHash appends the text for the encoding to dst and returns the
	// extended slice. It is called concurrently and must not block. It must
	// neither change nor keep the two slices. A key that is over [MaxKeyLen]
	// bytes, is not UTF-8, or has white space, control characters or braces is
	// refused with [ErrKey], and so is an empty text.
	AppendHash(dst, encoded []byte) []byte
}

// KeyBuilder turns parameters into full keys: Prefix + Value and, with
// [Opts].ParamLock, ":" and a text for the parameters. It is what decorators
// use, made for those who write one. It is safe for concurrent use.
//
// # What makes two parameters the same
//
// Parameters are encoded by type and value, and the encoding is hashed. Equal
// parameters have one key in every process; parameters that differ, differ in
// the key.
//
//   - Integers are compared by value, whatever their type: int32(5), uint8(5)
//     and a type Age int of 5 are one. Floats are never integers; -0 is 0; NaN
//     is refused.
//   - A string is its bytes: "5" is not 5, and nothing is normalised, neither
//     case nor Unicode form. Do that in [By] if two spellings mean one thing.
//     []byte and byte arrays are a kind of their own.
//   - Pointers and interfaces are followed. A nil pointer or interface is a
//     value of its own, unlike "" or 0.
//   - Slices and arrays are lists; []any{"a", 5} is what several parameters
//     are. A list of one is not the same as its element. Nil slices and maps
//     are empty ones, as they are on the wire: whoever sends the request must
//     not get another lock for null than for [].
//   - Maps have no order.
//   - Structs are their exported fields, by name: neither the order of the
//     fields nor the name of the type matters. An embedded struct is a field
//     named after its type, unexported types included. Other unexported fields
//     are left out, and so are fields that are a [context.Context]. A field
//     tagged `lock:"-"` is left out; if any is tagged `lock:"key"`, promoted
//     fields included, only these take part, and a struct with a single one is
//     that field: an ID is one lock however it comes. A struct none of whose
//     fields takes part is refused, and so is one that embeds an unexported type with
//     one of the methods below, which nobody but the type's package can call.
//   - A type with a method LockKey() string is the string that it returns,
//     which must not be empty; this beats everything else. A nil pointer stays
//     nil and is not asked.
//   - A [time.Time] is its instant: equal instants in different zones are one.
//   - A type with MarshalText is the string that it returns, except structs
//     that have `lock` tags or embed a type with MarshalText: the method may
//     be a promoted one, which knows nothing of the other fields.
//   - Generated protobuf messages are structs. Their internal and unknown
//     fields and extensions are left out; a oneof is the field that is set.
//     Messages of the opaque API have no fields to see and are refused: name
//     their parts in [By].
//   - Functions, channels, uintptr, unsafe pointers and contexts are refused,
//     and so is what is nested deeper than 64 levels, cycles among it, or is
//     over 1 MiB when encoded. So is a value with one of the methods above if the
//     method panics.
type KeyBuilder struct {
	base   string
	params ParamFunc
	hasher Hasher // nil: no parameters in the key
	sound  bool   // the hasher is one of ours: what it gives needs no check
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

// Key returns the full key for params. Without [Opts].ParamLock they are
// ignored. Any error wraps [ErrKey]: the parameters cannot take part in a key,
// their type is not the one that [Opts].Params takes, they are [Skip], or the
// Hasher's text is not acceptable.
func (b *KeyBuilder) Key(params any) (string, error) {
	key, skipped, err := b.build(params)
	if skipped {
		return "", b.refuse(errors.New("Skip is not a parameter"))
	}
	return key, err
}

// build is Key for callers that run without a lock when told to: it reports
// whether params, or what Params makes of them, is [Skip].
func (b *KeyBuilder) build(params any) (key string, skipped bool, err error) {
	if _, ok := params.(skip); ok {
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
		if _, ok := params.(skip); ok {
			return "", true, nil
		}
	}

	// No defer: if a method of the caller ends the goroutine, the encoder is in an
	// unknown state and is not put back.
	e := encoders.Get().(*encoder)
	if err := e.encode(params); err != nil {
		e.free()
		return "", false, b.refuse(err)
	}
	e.key = append(append(e.key, b.base...), ':')
	if b.sound {
		key = string(b.hasher.AppendHash(e.key, e.buf))
	} else if key, err = b.hash(e); err != nil {
		return "", false, err
	}
	e.free()
	return key, false, nil
}

// hash calls a Hasher that is not the package's own, and checks its result.
func (b *KeyBuilder) hash(e *encoder) (key string, err error) {
	defer func() {
		if r := recover(); r != nil {
			key, err = "", b.refuse(fmt.Errorf("the Hasher %T panicked: %w", b.hasher, panicked(r)))
		}
	}()
	key = string(b.hasher.AppendHash(e.key, e.buf))
	return key, b.checkHashed(key)
}

// checkHashed judges what a Hasher of unknown origin returned.
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

// checkRequest reports why requests of type t can never have a key, so that
// decorators can refuse them when they are made. A nil error promises nothing
// for what hides behind interfaces.
func (b *KeyBuilder) checkRequest(t reflect.Type) error {
	switch {
	case b.hasher == nil:
		return nil
	case b.params.isSet():
		return b.params.accepts(t)
	default:
		return checkType(t)
	}
}

func (b *KeyBuilder) refuse(err error) error {
	return &Error{Op: "key", Err: fmt.Errorf("%w: parameters of %s: %w", ErrKey, quoteKey(b.base), err)}
}

// validateBase checks Prefix + Value. Whether it may be empty is not its
// business.
func validateBase(base string) error {
	if base == "" {
		return nil
	}
	if fault := keyFault(base); fault != "" {
		return errors.New("Prefix+Value " + quoteKey(base) + " " + fault)
	}
	return nil
}

// validateRoom checks that base leaves room for what h appends. What a Hasher of
// unknown origin appends is known only at call time.
func validateRoom(base string, h Hasher) error {
	if h == nil {
		h = digest{}
	}
	need := 1
	if bounded, ok := h.(boundedHasher); ok {
		need = bounded.maxLen()
	}
	if most := MaxKeyLen - len(":") - need; len(base) > most && len(base) <= MaxKeyLen {
		return fmt.Errorf("Prefix+Value %s is %d bytes long and leaves no room for the parameters: at most %d with this Hasher",
			quoteKey(base), len(base), most)
	}
	return nil
}

// checkKey checks a full key that the caller gave. It does not allocate unless
// it refuses.
func checkKey(key string) error {
	if fault := keyFault(key); fault != "" {
		return &Error{Op: "key", Key: key, Err: fmt.Errorf("%w: it %s", ErrKey, fault)}
	}
	return nil
}

// keyFault says what is wrong with key, or "". Stores give a meaning to what is
// refused here: braces choose the slot in Redis Cluster, white space and control
// characters end words and lines in protocols, logs and shells.
func keyFault(key string) string {
	switch {
	case key == "":
		return "is empty"
	case len(key) > MaxKeyLen:
		return "is " + strconv.Itoa(len(key)) + " bytes long: at most " + strconv.Itoa(MaxKeyLen)
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
