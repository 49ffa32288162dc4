package doctor

import (
	"fmt"
	"strings"
)

// atLeast returns what judges a version.
func atLeast(name string, major, minor int) func(string) verdict {
	return func(version string) verdict {
		if before(version, major, minor) {
			return fault(name+" "+version, fmt.Sprintf("use %s %d.%d or later", name, major, minor))
		}
		return ok("%s %s", name, version)
	}
}

// before reports whether a version is before another one. What is no version is.
func before(version string, major, minor int) bool {
	var has, hasMinor int
	number := strings.TrimLeftFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	n, _ := fmt.Sscanf(number, "%d.%d", &has, &hasMinor)
	return n == 0 || has < major || has == major && hasMinor < minor
}
