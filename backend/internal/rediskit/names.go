package rediskit

import "errors"

// CheckNames refuses keys and owners that would break the format of locks, tombstones
// and queues. Errors never contain owners: a client that knows an owner can release its
// lock.
func CheckNames(key, owner string) error {
	if key == "" {
		return errors.New("the key is empty")
	}
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
