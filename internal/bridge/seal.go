package bridge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

var encoding = base64.RawURLEncoding.Strict()

// NoSecret makes a signature a checksum. A key of less than 14 bytes would not be allowed under
// GODEBUG=fips140=only.
var NoSecret = [][]byte{[]byte("a checksum, not a secret")}

// Seal returns what a process passes on of a lease, as letters, digits, "-" and "_" behind the
// kind. It is signed with the first secret; without one, with [NoSecret].
func Seal(kind string, secrets [][]byte, v any) string {
	body, err := json.Marshal(v)
	if err != nil {
		panic("distlock: " + err.Error()) // text and numbers can be encoded
	}
	if len(secrets) == 0 {
		secrets = NoSecret
	}
	return kind + encoding.EncodeToString(signed(kind, secrets[0], body))
}

// Open reads a text of [Seal] into v, and reports whether it is one, of this kind and with one
// of the secrets. Without secrets it does not look at the signature.
func Open(kind string, secrets [][]byte, text string, v any) bool {
	value, ok := strings.CutPrefix(text, kind)
	sealed, err := encoding.DecodeString(value)
	n := len(sealed) - sha256.Size
	if !ok || err != nil || n < 0 {
		return false
	}
	good := len(secrets) == 0
	for _, secret := range secrets {
		good = good || hmac.Equal(sealed, signed(kind, secret, sealed[:n]))
	}
	return good && json.Unmarshal(sealed[:n], v) == nil
}

// signed returns the body and its signature.
func signed(kind string, secret, body []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(kind))
	mac.Write(body)
	return mac.Sum(slices.Clip(body))
}
