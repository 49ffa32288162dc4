//go:build unix

package main

import (
	"os"
	"syscall"
	"unsafe"
)

// openRegister maps the register in the file at path, and creates the file if
// necessary. The returned function unmaps it.
func openRegister(path string) (*register, func(), error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() //nolint:errcheck // the mapping stays, and nothing was written through f
	size := int(unsafe.Sizeof(register{}))
	if err := f.Truncate(int64(size)); err != nil {
		return nil, nil, err
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	// A mapping begins at a page, so its atomics are aligned. The garbage collector
	// ignores it, because it is outside Go's memory.
	return (*register)(unsafe.Pointer(&b[0])), func() { _ = syscall.Munmap(b) }, nil
}
