package redistest

import (
	_ "embed"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/child"
	"github.com/distlock-go/distlock/internal/testmode"
)

// Clock is the wall clock of real servers. It can be set while they run.
type Clock struct {
	lib, file string
	admins    []*redis.Client // one for each server
}

//go:embed testdata/clock.c
var clockSource string

// NewClock returns a clock that shows the true time. It is a small library that servers
// load before the C library. Without a C compiler the test is skipped.
func NewClock(tb testing.TB) *Clock {
	tb.Helper()
	missing := tb.Skipf
	if child.Required() {
		missing = tb.Fatalf
	}
	cc, err := exec.LookPath("gcc")
	if err != nil {
		missing(testmode.LeftOut+"needs a C compiler to set the clock of a redis-server: %v", err)
	}
	dir := tb.TempDir()
	c := &Clock{lib: filepath.Join(dir, "clock.so"), file: filepath.Join(dir, "offset")}
	cmd := exec.Command(cc, "-shared", "-fPIC", "-O1", "-x", "c", "-o", c.lib, "-")
	cmd.Stdin = strings.NewReader(clockSource)
	if out, err := cmd.CombinedOutput(); err != nil {
		missing(testmode.LeftOut+"needs a C compiler that makes libraries: %v\n%s", err, out)
	}
	c.Set(tb, 0)
	return c
}

// Start is like the function [Start], for a server that uses this clock.
func (c *Clock) Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s := launch(tb, &Server{args: args, env: []string{"TEST_CLOCK_OFFSET=" + c.file, "LD_PRELOAD=" + c.lib}}, "")
	c.admins = append(c.admins, s.Client(tb))
	return s
}

// Set sets the clock to the true time plus d.
func (c *Clock) Set(tb testing.TB, d time.Duration) {
	tb.Helper()
	f, err := os.OpenFile(c.file, os.O_CREATE|os.O_WRONLY, 0o600) // the servers have mapped this file
	must(tb, err)
	must(tb, binary.Write(f, binary.NativeEndian, int64(d)))
	must(tb, f.Close())
	for _, admin := range c.admins {
		now, err := admin.Time(tb.Context()).Result()
		if got := time.Until(now); err != nil || (got-d).Abs() > 10*time.Minute {
			tb.Fatalf("the server's clock is %v ahead, not %v: %v", got, d, err)
		}
	}
}
