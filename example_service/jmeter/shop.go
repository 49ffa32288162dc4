package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/distlock-go/distlock/internal/child"
)

// shop is the example service, in a process of its own.
type shop struct {
	host, port string
	bench      string // the file of the command bench
	stop       func()
}

func (s *shop) url() string { return "http://" + net.JoinHostPort(s.host, s.port) }

// startShop compiles the example service and bench, and starts the service on free
// ports, with its locks in the embedded store and its stock in a temporary file.
func startShop(ctx context.Context, progress io.Writer) (*shop, error) {
	const module = "github.com/distlock-go/distlock/"
	bin := filepath.Join(target, "bin")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin+"/", module+"example_service", module+"bench")
	build.Stderr = progress
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("the example service and bench: %w", err)
	}

	// All users wait for one lock, so the last of them waits long.
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "example_service"), "-http", "127.0.0.1:0", "-grpc", "127.0.0.1:0", "-wait", "1m")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = progress
	out, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = w
	ended, err := child.Start(cmd)
	_ = w.Close()
	if err != nil {
		return nil, err
	}
	s := &shop{bench: filepath.Join(bin, "bench"), stop: func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
		_ = out.Close()
	}}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if addr, ok := strings.CutPrefix(lines.Text(), "http on "); ok {
			s.host, s.port, err = net.SplitHostPort(addr)
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return s, err
		}
	}
	s.stop()
	return nil, errors.New("the example service does not start")
}
