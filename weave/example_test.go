package weave_test

import (
	"fmt"

	"github.com/distlock-go/distlock/weave"
)

// A program can tell whether the weaver has built it. Require panics instead. The woven
// program is in the directory example, and is a module of its own.
func Example() {
	if !weave.Woven() {
		fmt.Println("built without the weaver: the functions run without their locks")
	}
	// Output: built without the weaver: the functions run without their locks
}
