package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childEnv makes the test binary run the command.
const childEnv = "EXAMPLE_SERVICE_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "1" {
		main()
	}
	goleak.VerifyTestMain(m)
}
