package child

import (
	"fmt"
	"os"
)

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
