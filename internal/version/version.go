// Package version says which version of its module a command was built from.
package version

import (
	"runtime"
	"runtime/debug"
)

// Line returns what a command prints for -version: its name, the version of its
// module, and the toolchain that built it.
func Line(command string) string {
	info, _ := debug.ReadBuildInfo()
	return line(command, info)
}

func line(command string, info *debug.BuildInfo) string {
	version := "(devel)"
	if info != nil && info.Main.Version != "" {
		version = info.Main.Version
	}
	return command + " " + version + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
}
