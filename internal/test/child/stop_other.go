//go:build !linux

package child

import (
	"os"
	"syscall"
)

func dieWithParent(*syscall.SysProcAttr) {}

func awaitStop(*os.Process) {}
