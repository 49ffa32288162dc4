//go:build !unix

package child

import "os/exec"

// Unprivileged does nothing.
func Unprivileged(*exec.Cmd, string, string) error { return nil }
