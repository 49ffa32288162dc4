package child

import (
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
