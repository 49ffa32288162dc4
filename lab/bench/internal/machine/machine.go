// Package machine describes the machine on which something is measured.
package machine

import (
	"bufio"
	"os"
	"runtime"
	"strings"
)

// Machine is what a reader needs to judge figures that were measured on it.
type Machine struct {
	CPU  string `json:"cpu"` // empty if it is unknown
	CPUs int    `json:"cpus"`
	OS   string `json:"os"`
	Go   string `json:"go"`
}

// Here describes this machine.
func Here() Machine {
	return Machine{CPU: cpuModel(), CPUs: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
}

// Model returns the CPU for readers, also if it is unknown.
func (m Machine) Model() string {
	if m.CPU == "" {
		return "unknown CPU"
	}
	return m.CPU
}

// cpuModel returns the model on Linux, and otherwise nothing.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // it was only read
	return Field(bufio.NewScanner(f), "model name")
}

// Field returns the value of the first line "name: value".
func Field(lines *bufio.Scanner, name string) string {
	for lines.Scan() {
		if n, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(n) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
