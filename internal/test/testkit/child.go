package testkit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// childEnv holds a Child, as JSON, in a process that [StartChild] has started.
const childEnv = "DISTLOCK_TEST_CHILD"

// Child is this process, if [StartChild] has started it.
type Child struct {
	Role  string
	Order json.RawMessage

	in *bufio.Scanner
}

// BeChild plays a role, if [StartChild] has started this process, and exits. TestMain calls
// it first. An error is written to the standard error, and the exit code is 1.
func BeChild(roles map[string]func(c *Child) error) {
	text := os.Getenv(childEnv)
	if text == "" {
		return
	}
	c := &Child{in: bufio.NewScanner(os.Stdin)}
	err := json.Unmarshal([]byte(text), c)
	if err == nil {
		err = os.Unsetenv(childEnv) // for children of its own
	}
	if play, ok := roles[c.Role]; err == nil && ok {
		err = play(c)
	} else if err == nil {
		err = fmt.Errorf("there is no role %q", c.Role)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "child %s: %v\n", c.Role, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Decode decodes the order.
func (c *Child) Decode(order any) error { return json.Unmarshal(c.Order, order) }

// Say writes a line of words to the parent.
func (c *Child) Say(words ...any) { _, _ = fmt.Fprintln(os.Stdout, words...) }

// Hear waits for a line of the parent. It returns "" when the parent has closed the pipe.
func (c *Child) Hear() string {
	c.in.Scan()
	return c.in.Text()
}
