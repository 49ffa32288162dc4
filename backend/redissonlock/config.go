package redissonlock

import "time"

// Config configures the backend that [New] returns. Its zero value works.
type Config struct {
	// OpTimeout is the time within which the server must answer an operation. Otherwise
	// the operation fails, whatever the timeouts of the client are. The default is a
	// second.
	OpTimeout time.Duration
}
