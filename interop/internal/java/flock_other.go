//go:build !unix

package java

import "errors"

func lockFile(string) (unlock func(), err error) { return nil, errors.ErrUnsupported }
