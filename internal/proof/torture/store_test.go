package torture

import "testing"

// store is the servers of the backend.
type store interface {
	addrs() []string
	stop(tb testing.TB, i int)
	cont(tb testing.TB, i int)
	kill(i int)
	restart(tb testing.TB, i int) // with its data

	// left returns data that a lock should not leave behind. A process that was killed
	// may leave more.
	left(keys int, dead func(holder string) bool) ([]string, error)
}
