package zktest_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// A server that was killed when it began a log starts again.
func TestRestartWithAnEmptyLog(t *testing.T) {
	testmode.Long(t)
	dir := t.TempDir()
	s, err := zktest.Launch(dir, zktest.Config{})
	child.Need(t, err)
	defer s.Kill()
	s.Kill()
	log := filepath.Join(dir, strconv.Itoa(s.Ports[0]), "data", "version-2", "log.fff")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
}
