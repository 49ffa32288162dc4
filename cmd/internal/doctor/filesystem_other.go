//go:build !linux

package doctor

// fileSystemOf returns "": only Linux is known.
func fileSystemOf(string) string { return "" }
