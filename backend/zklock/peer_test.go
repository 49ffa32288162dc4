package zklock_test

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// peer is a program that takes locks with another library. It reads lines with a verb, a
// kind of lock and a path, and answers each with a line.
type peer struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

// startPeer starts a peer, which ends with the test.
func startPeer(t *testing.T, cmd *exec.Cmd) *peer {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // ends the program
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v: %s", cmd.Path, err, &stderr)
		}
	})
	c := &peer{t, in, bufio.NewScanner(out)}
	if answer := c.answer(); answer != "ready" {
		t.Fatalf("%s says %q", cmd.Path, answer)
	}
	return c
}

func (c *peer) send(verb, kind, path string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, verb, kind, path); err != nil {
		c.t.Fatal(err)
	}
}

func (c *peer) answer() string {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("the program says nothing: %v", c.out.Err())
	}
	return c.out.Text()
}

func (c *peer) must(want, verb, kind, path string) {
	c.t.Helper()
	c.send(verb, kind, path)
	if got := c.answer(); got != want {
		c.t.Errorf("%s %s %s: %s, want %s", verb, kind, path, got, want)
	}
}
