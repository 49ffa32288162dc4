package doctor

import (
	"regexp"
	"strconv"
)

// atLeast returns what judges a version.
func atLeast(name string, major, minor int) func(string) verdict {
	return func(version string) verdict {
		if before(version, major, minor) {
			return fault(name+" "+version, "use "+name+" "+strconv.Itoa(major)+"."+strconv.Itoa(minor)+" or later")
		}
		return ok("%s %s", name, version)
	}
}

var leadingNumbers = regexp.MustCompile(`^\D*(\d+)\.?(\d*)`)

// before reports whether a version is before another one. What is no version is.
func before(version string, major, minor int) bool {
	m := leadingNumbers.FindStringSubmatch(version)
	if m == nil {
		return true
	}
	has, _ := strconv.Atoi(m[1])
	hasMinor, _ := strconv.Atoi(m[2])
	return has < major || has == major && hasMinor < minor
}
