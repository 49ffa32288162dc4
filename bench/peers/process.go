package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	servers "github.com/distlock-go/distlock/internal/child" // this package has a child of its own
)

// launch starts a server in a new directory and waits until it serves. It returns a
// function that kills it, because its data is not needed, and removes the directory.
func launch(ctx context.Context, name string, command func(dir string, port int) (*exec.Cmd, error), serves func(port int) bool) (port int, stop func(), err error) {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return 0, nil, err
	}
	kill := func() {}
	remove := func() { kill(); _ = os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			remove()
		}
	}()
	if port, err = servers.FreePort(); err != nil {
		return 0, nil, err
	}
	cmd, err := command(dir, port)
	if err != nil {
		return 0, nil, err
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	exited, err := servers.Start(cmd)
	if err != nil {
		return 0, nil, err
	}
	kill = func() {
		_ = cmd.Process.Kill()
		<-exited
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(time.Minute); ; {
		if serves(port) {
			return port, remove, nil
		}
		select {
		case <-exited:
			return 0, nil, fmt.Errorf("%s does not start: %s", name, bytes.TrimSpace(output.Bytes()))
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		case <-tick.C:
		}
		if time.Now().After(limit) {
			return 0, nil, errors.New(name + " does not answer")
		}
	}
}
