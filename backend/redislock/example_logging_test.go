package redislock_test

import (
	"fmt"

	"github.com/redis/go-redis/v9/logging"
)

// In an outage go-redis writes each failed connection to stderr. The errors of the lock have
// the same causes.
func Example_logging() {
	logging.Disable() // of github.com/redis/go-redis/v9/logging
	defer logging.Enable()

	fmt.Println("quiet")
	// Output: quiet
}
