//go:build !unix

package main

import "errors"

// openRegister returns an error.
func openRegister(string) (*register, func(), error) {
	return nil, nil, errors.New("this system cannot share a register between processes: run the benchmark on a Unix system")
}
