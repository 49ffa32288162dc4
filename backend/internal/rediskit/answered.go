package rediskit

import (
	"errors"

	"github.com/redis/go-redis/v9"
)

// Answered reports whether the server has answered the operation that returned err,
// possibly with an error.
func Answered(err error) bool {
	if err == nil {
		return true
	}
	var reply redis.Error
	return errors.As(err, &reply)
}
