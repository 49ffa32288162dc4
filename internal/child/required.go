package child

import "os"

// RealEnv is an environment variable. If it is 1, a test fails instead of being skipped
// when a program is missing.
const RealEnv = "DISTLOCK_TEST_REAL"

// Required reports whether a missing program is a failure.
func Required() bool { return os.Getenv(RealEnv) == "1" }
