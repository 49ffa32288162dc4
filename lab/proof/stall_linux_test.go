package proof_test

import (
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestStopped stops this process for half a second.
func TestStopped(t *testing.T) {
	testmode.InRealTime(t)
	s := watchStalls(t)
	time.Sleep(20 * time.Millisecond)
	if s.excuse(time.Minute) {
		t.Error("an excuse for a minute, and no minute has passed")
	}
	self := strconv.Itoa(syscall.Getpid())
	script := "kill -STOP " + self + "; sleep 0.5; kill -CONT " + self
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !s.excuse(400 * time.Millisecond) {
		t.Error("no excuse for what was late because the process had stopped")
	}
}
