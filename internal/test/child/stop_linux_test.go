package child_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
)

// TestStop checks that the child has stopped when Stop returns, also the second time.
func TestStop(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	exited, err := child.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		<-exited
	}()
	for range 100 {
		if err := child.Stop(cmd.Process); err != nil {
			t.Fatal(err)
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(stat), ") T ") {
			t.Fatalf("it has not stopped: %s", stat)
		}
		if err := child.Cont(cmd.Process); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-exited
	if err := child.Stop(cmd.Process); err == nil {
		t.Error("what has ended was stopped")
	}
}
