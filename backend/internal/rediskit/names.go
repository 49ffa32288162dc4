package rediskit

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// CheckNames is CheckKey and CheckOwner. Errors name the package pkg.
func CheckNames(pkg, key, owner string) error {
	if err := cmp.Or(CheckKey(key), CheckOwner(owner)); err != nil {
		return fmt.Errorf("%s: %w", pkg, err)
	}
	return nil
}

// CheckOwner refuses owners that would break the format of locks, tombstones and
// queues. Errors never contain owners: a client that knows an owner can release its
// lock.
func CheckOwner(owner string) error {
	if owner == "" || owner == "-" || len(owner) > 128 {
		return errors.New("the owner is empty, too long, or reserved")
	}
	for i := range len(owner) {
		if c := owner[i]; c <= ' ' || c > '~' {
			return errors.New("the owner has a space or a byte that is not printable ASCII")
		}
	}
	return nil
}

// CheckKey refuses what cannot be the key of a lock: braces that are not one hash tag,
// and the companion of another lock.
func CheckKey(key string) error {
	if key == "" {
		return errors.New("the key is empty")
	}
	opening, closing := strings.IndexByte(key, '{'), strings.IndexByte(key, '}')
	if opening < 0 && closing < 0 {
		return nil
	}
	if opening < 0 || closing < opening+2 || strings.IndexByte(key[opening+1:], '{') >= 0 || strings.IndexByte(key[closing+1:], '}') >= 0 {
		return fmt.Errorf("the key %q has braces that are not one hash tag", key)
	}
	if opening > 0 {
		return nil
	}
	switch rest := key[closing+1:]; {
	case rest == queue, rest == gone, rest == token, strings.HasPrefix(rest, gone+":"):
		return fmt.Errorf("the key %q is in use by the lock %q", key, key[1:closing])
	}
	return nil
}

// What follows the key in the names of companions.
const (
	queue = ":queue"
	gone  = ":gone"
	token = ":token"
)

// Tag returns the hash tag of a key with its braces, or "" if the key has none.
func Tag(key string) string {
	if opening := strings.IndexByte(key, '{'); opening >= 0 {
		return key[opening : strings.IndexByte(key, '}')+1]
	}
	return ""
}

// Companion returns the name of another key of a lock, in the same hash slot. A key
// with a hash tag is preceded by the tag. Such a name has two opening braces, and so it
// is not the key of a lock.
func Companion(key, suffix string) string { return Tag(key) + "{" + key + "}" + suffix }

// KeyOf returns the key of the lock that has a companion of that name.
func KeyOf(name, suffix string) (key string, ok bool) {
	inner, ok := strings.CutSuffix(name, "}"+suffix)
	if !ok {
		return "", false
	}
	opening := strings.Index(inner, "}{") + 1 // 0 if the key has no hash tag
	key = inner[min(opening+1, len(inner)):]
	return key, CheckKey(key) == nil && Companion(key, suffix) == name
}

// Duration returns the value of a field of a Config, or the default if it is zero. It
// panics if the value is less than a millisecond. The panic names the package and the
// field.
func Duration(pkg, field string, value, byDefault time.Duration) time.Duration {
	if value != 0 && value < time.Millisecond {
		panic(fmt.Sprintf("%s: Config.%s: %v is less than a millisecond", pkg, field, value))
	}
	return cmp.Or(value, byDefault)
}
