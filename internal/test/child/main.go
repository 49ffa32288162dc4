package child

import (
	"fmt"
	"os"
)

// Main runs the tests of a package, and then ends the servers that they share. TestMain passes
// it to goleak.
type Main struct {
	Tests interface{ Run() int } // a testing.M
	End   func() error           // such as [Shared.Close]
}

// Run returns the exit code. An error of End fails the tests.
func (m Main) Run() int {
	code := m.Tests.Run()
	if err := m.End(); code == 0 && err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}
