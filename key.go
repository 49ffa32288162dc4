package distlock

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/distlock-go/distlock/internal/keyenc"
	"github.com/distlock-go/distlock/internal/text"
)

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
	if most := max(keyenc.MaxKeyLen-len(":")-textLen(h), 0); len(base) > most && len(base) <= keyenc.MaxKeyLen {
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
	case !utf8.ValidString(key):
		return "is not valid UTF-8"
	}
	for at, r := range key {
		switch {
		case ' ' < r && r < 0x7f: // most of them
		case unicode.IsSpace(r):
			return "has white space at byte " + strconv.Itoa(at)
		case unicode.IsControl(r):
			return "has a control character at byte " + strconv.Itoa(at)
		}
	}
	opening, closing := strings.Count(key, "{"), strings.Count(key, "}")
	if opening+closing > 0 && (opening != 1 || closing != 1 || strings.IndexByte(key, '}') < strings.IndexByte(key, '{')+2) {
		return "has braces that are not one hash tag, such as {order}"
	}
	return ""
}

// Key returns the key of a lock with parameters, for functions that get a key from their
// caller. Key("transfer", from, to) is "transfer:alice:bob". Under Prefix "shop:" that is the
// key of Value "transfer" with the same Prefix and parameters. [Opts].ParamLock says
// which values have the same key. If a parameter cannot be part of a key, the result is a
// text that every [Locker] refuses with [ErrKey], and that says why. Where parameters may be
// long, write Key("shop:transfer", from, to) without a Prefix. What does not fit into the
// room that Key knows of is a digest; what does not fit because of the Prefix is refused.
func Key(value string, params ...any) string {
	if len(params) == 0 {
		return value
	}
	e := keyenc.NewEncoder() // no defer, as in build
	err := e.Encode(params)
	if err != nil {
		e.Free()
		return value + ": " + err.Error()
	}
	key := string(keyenc.AppendText(append(append(e.KeyBuffer(), value...), ':'), e.Encoded()))
	e.Free()
	return key
}

// Hasher makes the last part of a key, in the place of the text that shows the parameters,
// for parameters that are personal or secret. [Keyed] returns one.
//
// It appends a text to key and returns the extended slice. params is the text that would be
// there otherwise, such as "alice:bob", however long. A Hasher is called concurrently and must
// not block. It must neither change nor keep the two slices.
//
// The text must depend on params alone, be the same in every process, and not be empty. It
// must not be feasible to find two params with one text, because clients choose parameters.
// When options are checked, params is empty, and the text shows how much room to leave.
//
// A key is refused with [ErrKey] if it is over 200 bytes or not UTF-8, or has white space,
// control characters, or braces that are not one hash tag.
type Hasher func(key, params []byte) []byte

// textLen returns the length of the texts of h, as far as it is known before there are
// parameters: at least 1.
func textLen(h Hasher) (n int) {
	if h == nil {
		return len("~") + keyenc.DigestLen
	}
	defer func() {
		if recover() != nil {
			n = 1 // the calls will show the panic
		}
	}()
	return max(len(h(nil, nil)), 1)
}

// minSecret is the least length of a secret in bytes: the 128 bits of the result.
const minSecret = keyenc.DigestLen / 2

// Keyed returns a Hasher with a secret: HMAC-SHA-256 cut to 128 bits, in hex. Others who
// see the keys in the store cannot try out which customer a key stands for. All processes
// need the same secret. Keyed copies it and panics if it has fewer than 16 bytes.
func Keyed(secret []byte) Hasher {
	if len(secret) < minSecret {
		panic("distlock: Keyed: the secret has " + strconv.Itoa(len(secret)) +
			" bytes: at least " + strconv.Itoa(minSecret))
	}
	own := bytes.Clone(secret) // the pool makes states at any time
	states := sync.Pool{New: func() any { return &keyedState{mac: hmac.New(sha256.New, own)} }}
	return func(key, params []byte) []byte {
		s := states.Get().(*keyedState)
		s.mac.Reset()
		s.mac.Write(params)
		key = hex.AppendEncode(key, s.mac.Sum(s.sum[:0])[:keyenc.DigestLen/2])
		states.Put(s)
		return key
	}
}

type keyedState struct {
	mac hash.Hash
	sum [sha256.Size]byte
}
