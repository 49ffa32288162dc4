package torture

import (
	"path/filepath"
	"testing"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

// process is a child process with workers.
type process struct {
	*testkit.Process
	config config

	killed   bool
	killedAt int64
}

func startProcess(tb testing.TB, c config) *process {
	tb.Helper()
	return &process{Process: testkit.StartChild(tb, roleKid, c), config: c}
}

// kill kills the process and waits until it has exited.
func (p *process) kill() {
	if !p.killed && p.Runs() {
		p.killed, p.killedAt = true, now()
	}
	p.Kill()
}

// journalOf returns the name of a process's journal in dir.
func journalOf(dir, proc string) string { return filepath.Join(dir, "process-"+proc+".jsonl") }
