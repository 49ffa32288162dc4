package proof_test

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/child"
	"github.com/distlock-go/distlock/internal/testmode"
)

// wallClock is the clock of a real redis-server. It can be set while the server runs.
type wallClock struct {
	*store

	tb   testing.TB
	file string
}

// startClocked starts a redis-server with a clock that can be set, by a small library
// that is loaded before the C library. Without a C compiler the test is skipped. The
// test must not run in parallel with others, because it changes the environment.
func startClocked(t *testing.T) wallClock {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		noCompiler(t, "needs a C compiler to set the clock of a redis-server: %v", err)
	}
	dir := t.TempDir()
	lib := filepath.Join(dir, "clock.so")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-o", lib, filepath.Join("testdata", "clock.c")).CombinedOutput(); err != nil {
		noCompiler(t, "needs a C compiler that makes libraries: %v\n%s", err, out)
	}
	c := wallClock{tb: t, file: filepath.Join(dir, "offset")}
	c.set(0)
	t.Setenv("TEST_CLOCK_OFFSET", c.file)
	t.Setenv("LD_PRELOAD", lib)
	c.store = startRedis(t, "redislock", 1)
	return c
}

// noCompiler skips the test, or fails it if missing programs are failures.
func noCompiler(t *testing.T, format string, args ...any) {
	t.Helper()
	if child.Required() {
		t.Fatalf(format, args...)
	}
	t.Skipf(testmode.LeftOut+format, args...)
}

// set sets the clock to the true time plus d.
func (c wallClock) set(d time.Duration) {
	c.tb.Helper()
	f, err := os.OpenFile(c.file, os.O_CREATE|os.O_WRONLY, 0o600) // the server has mapped this file
	if err != nil {
		c.tb.Fatal(err)
	}
	defer f.Close()
	if err := binary.Write(f, binary.NativeEndian, int64(d)); err != nil {
		c.tb.Fatal(err)
	}
	if c.store == nil {
		return
	}
	now, err := c.admins[0].Time(c.tb.Context()).Result()
	if got := time.Until(now); err != nil || (got-d).Abs() > 10*time.Minute {
		c.tb.Fatalf("the server's clock is %v ahead, not %v: %v", got, d, err)
	}
}
