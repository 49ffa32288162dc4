package child

import "os"

// RealEnv is the environment variable that, set to 1, makes tests fail that would
// be skipped because a program is missing.
const RealEnv = "DISTLOCK_TEST_REAL"

// Required reports whether a program that is missing is a failure.
func Required() bool { return os.Getenv(RealEnv) == "1" }
