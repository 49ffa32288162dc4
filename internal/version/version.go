// Package version says which version of its module a command was built from.
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// Line returns what a command prints for -version: its name, the version of its
// module, and the toolchain that built it.
func Line(command string) string {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = cmp.Or(info.Main.Version, version)
	}
	return command + " " + version + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
}
