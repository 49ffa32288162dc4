package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/child"
	"github.com/distlock-go/distlock/internal/testmode"
)

// service is the command, running inside the test.
type service struct {
	addresses
	log  *child.Output // its stderr
	end  context.CancelFunc
	code chan int
}

// addresses are printed by the command when it is ready.
type addresses struct{ http, grpc string }

// startService runs the command on free ports. It is stopped at the latest when the
// test ends.
func startService(t *testing.T, args ...string) *service {
	t.Helper()
	return launch(t, func(ctx context.Context, stdout, stderr io.Writer) int {
		return run(ctx, append([]string{"-http", "127.0.0.1:0", "-grpc", "127.0.0.1:0"}, args...), stdout, stderr)
	})
}

func launch(t *testing.T, f func(ctx context.Context, stdout, stderr io.Writer) int) *service {
	t.Helper()
	testmode.InRealTime(t)
	ctx, cancel := context.WithCancel(context.Background())
	out, w := io.Pipe()
	s := &service{log: &child.Output{}, end: cancel, code: make(chan int, 1)}
	go func() {
		code := f(ctx, w, s.log)
		_ = w.Close()
		s.code <- code
	}()
	var ok bool
	if s.addresses, ok = readAddresses(out); !ok {
		cancel()
		t.Fatalf("the service does not start: exit %d, %s", <-s.code, s.log)
	}
	t.Cleanup(func() {
		if code := s.stop(t); code > exitOK {
			t.Errorf("exit %d: %s", code, s.log)
		}
	})
	return s
}

// startConfig is startService for settings without flags. The ports are free ones.
func startConfig(t *testing.T, cfg config) *service {
	t.Helper()
	cfg.httpAddr, cfg.grpcAddr = "127.0.0.1:0", "127.0.0.1:0"
	return launch(t, func(ctx context.Context, stdout, stderr io.Writer) int {
		if err := start(ctx, cfg, stdout, stderr); err != nil {
			_, _ = io.WriteString(stderr, err.Error())
			return exitError
		}
		return exitOK
	})
}

// stop ends the service as a signal does and returns its exit code; -1 if it was
// stopped before.
func (s *service) stop(t *testing.T) int {
	t.Helper()
	s.end()
	select {
	case code, ok := <-s.code:
		if !ok {
			return -1
		}
		close(s.code)
		return code
	case <-time.After(time.Minute):
		t.Fatal("the service does not stop")
		return -1
	}
}

// readAddresses reads the two lines, and starts a goroutine that reads the rest.
func readAddresses(r io.Reader) (a addresses, ok bool) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if addr, is := strings.CutPrefix(lines.Text(), "http on "); is {
			a.http = addr
		}
		if addr, is := strings.CutPrefix(lines.Text(), "grpc on "); is {
			a.grpc = addr
			go func() { _, _ = io.Copy(io.Discard, r) }()
			return a, true
		}
	}
	return a, false
}
