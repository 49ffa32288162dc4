package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// understandEscapes makes the console interpret escape sequences.
func understandEscapes(out *os.File) error {
	var mode uint32
	if err := windows.GetConsoleMode(windows.Handle(out.Fd()), &mode); err != nil {
		return err
	}
	return windows.SetConsoleMode(windows.Handle(out.Fd()), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
}
