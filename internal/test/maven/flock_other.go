//go:build !unix

package maven

import "errors"

func lockFile(string) (unlock func(), err error) { return nil, errors.ErrUnsupported }
