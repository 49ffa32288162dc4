//go:build unix

package maven

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks a file against other processes and goroutines. The lock ends with the
// process, too.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}
