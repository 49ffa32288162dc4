package child

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Clock is the wall clock of processes. It can be set while they run.
type Clock struct {
	lib, file string
}

//go:embed testdata/clock.c
var clockSource string

// NewClock returns a clock that shows the true time. It is a small library that processes
// load before the C library, and needs gcc. Its files are in dir.
func NewClock(dir string) (*Clock, error) {
	cc, err := LookPath("gcc", "needs a C compiler to set a process's clock")
	if err != nil {
		return nil, err
	}
	c := &Clock{lib: filepath.Join(dir, "clock.so"), file: filepath.Join(dir, "offset")}
	cmd := exec.Command(cc, "-shared", "-fPIC", "-O1", "-x", "c", "-o", c.lib, "-")
	cmd.Stdin = strings.NewReader(clockSource)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, Missing("needs a C compiler that makes libraries", fmt.Errorf("%w\n%s", err, out))
	}
	err = c.Set(0)
	return c, err
}

// Env returns what to add to the environment of a process, so that it uses this clock.
func (c *Clock) Env() []string {
	return []string{"TEST_CLOCK_OFFSET=" + c.file, "LD_PRELOAD=" + c.lib}
}

// Set sets the clock to the true time plus d, or to the time at which it stands plus d.
func (c *Clock) Set(d time.Duration) error { return c.write(0, int64(d)) }

// Stop makes the clock stand still.
func (c *Clock) Stop() error { return c.write(8, time.Now().UnixNano()) }

func (c *Clock) write(at, ns int64) error {
	f, err := os.OpenFile(c.file, os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // processes of other users have mapped this file
	if err != nil {
		return err
	}
	if err := binary.Write(io.NewOffsetWriter(f, at), binary.NativeEndian, ns); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
