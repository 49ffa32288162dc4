//go:build unix

package child

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// CanStop reports whether Stop can stop a process.
const CanStop = true

// Stop stops a process: its connections stay open, and it does not answer. On Linux a
// process that is a child has stopped when Stop returns.
func Stop(p *os.Process) error {
	err := p.Signal(syscall.SIGSTOP)
	if err == nil {
		awaitStop(p)
	}
	return err
}

// Cont continues a stopped process.
func Cont(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// Unprivileged makes cmd run as the named user if this process runs as root, and gives
// that user the directory dir and what it contains.
func Unprivileged(cmd *exec.Cmd, name, dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, gid)
	})
}

// LockFile locks a file against other processes and goroutines. The lock ends with the
// process, too.
func LockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}
