package main

import (
	"context"
	"os"
	"os/exec"

	servers "github.com/distlock-go/distlock/internal/test/child" // this package has a child of its own
)

// launch starts a server in a new directory, on a free port for clients and another, and
// waits until it serves at addr. It returns a function that kills it, because its data is
// not needed, and removes the directory.
func launch(ctx context.Context, name string, command func(dir string, ports []int) (*exec.Cmd, error), serves func(addr string) bool) (addr string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return "", nil, err
	}
	s := &servers.Server{Name: name, Ports: make([]int, 2)}
	s.Command = func() (*exec.Cmd, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return command(dir, s.Ports)
	}
	s.Ready = func() bool { return serves(s.Addr()) }
	defer context.AfterFunc(ctx, s.Kill)()
	if err := servers.Launch(s); err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	return s.Addr(), func() { s.Kill(); _ = os.RemoveAll(dir) }, nil
}
