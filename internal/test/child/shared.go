package child

import (
	"fmt"
	"os"
	"sync"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

// shared are the servers that all tests of a package use.
var shared struct {
	sync.Mutex

	ends []func() error
}

// Shared returns what gets a server that all tests of a package use. The first call launches it
// in a new directory; see [Need] for what happens without the program. [Main] kills it.
func Shared[S interface{ Kill() }](launch func(dir string) (S, error)) func(tb TB) S {
	start := sync.OnceValues(func() (server S, err error) {
		dir, err := os.MkdirTemp("", "server")
		if err != nil {
			return server, err
		}
		server, err = launch(dir)
		shared.Lock()
		defer shared.Unlock()
		shared.ends = append(shared.ends, func() error {
			if err == nil {
				server.Kill()
			}
			return os.RemoveAll(dir)
		})
		return server, err
	})
	return func(tb TB) S {
		tb.Helper()
		testmode.InRealTime(tb)
		server, err := start()
		Need(tb, err)
		return server
	}
}

// Main runs the tests of a package, and then ends the servers that they share. TestMain passes
// it to goleak.
type Main struct {
	Tests interface{ Run() int } // a testing.M
}

// Run returns the exit code. A server that does not end fails the tests.
func (m Main) Run() int {
	code := m.Tests.Run()
	for _, end := range shared.ends {
		if err := end(); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	return code
}
