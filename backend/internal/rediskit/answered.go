package rediskit

import (
	"errors"

	"github.com/redis/go-redis/v9"
)

// Answered reports whether an operation that returned err was answered by the
// server, be it with an error.
func Answered(err error) bool {
	if err == nil {
		return true
	}
	var reply redis.Error
	return errors.As(err, &reply)
}
