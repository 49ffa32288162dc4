// Package owner makes the owners of locks: a random UUID, and the name of the holder.
package owner

import (
	"os"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// MaxHolder is the most bytes of the name of a holder, which is stored with every lock.
const MaxHolder = 64

// uuidLen is the length of the part of an owner that is random.
const uuidLen = 36

// New returns a random UUID (version 4) followed by the name of the holder. The suffix is
// empty or "@" and the name.
func New(suffix string) string { return uuid.NewString() + suffix }

// Holder returns the name of the holder in an owner. It returns "" if the owner has
// no name or was not made by this package.
func Holder(owner string) string {
	if len(owner) <= uuidLen+1 || owner[uuidLen] != '@' || uuid.Validate(owner[:uuidLen]) != nil {
		return ""
	}
	name := owner[uuidLen+1:]
	if len(name) > MaxHolder || strings.ContainsFunc(name, Excluded) {
		return ""
	}
	return name
}

// DefaultHolder returns the host name and the process id, such as web-3/1432.
func DefaultHolder() string {
	pid := "/" + strconv.Itoa(os.Getpid())
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	host = Name(host)
	return host[:min(len(host), MaxHolder-len(pid))] + pid
}

// Name makes the name of a holder of a text: what it must not contain is "_", and the end of a
// long one is cut off.
func Name(text string) string {
	text = strings.Map(func(r rune) rune {
		if Excluded(r) {
			return '_'
		}
		return r
	}, text)
	return text[:min(len(text), MaxHolder)]
}

// Excluded reports whether the name of a holder must not contain r: stores separate
// owners with spaces and colons.
func Excluded(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	default:
		return !strings.ContainsRune("-._/", r)
	}
}
