package redlock

import (
	"fmt"
	"strings"
)

// quorumError says which nodes failed, and why, if too many did. It is one line.
type quorumError struct {
	nodes int
	errs  []error
}

func (e *quorumError) Error() string {
	texts := make([]string, len(e.errs))
	for i, err := range e.errs {
		texts[i] = strings.TrimPrefix(err.Error(), "redlock: ")
	}
	return fmt.Sprintf("redlock: %d of %d nodes failed: %s", len(e.errs), e.nodes, strings.Join(texts, "; "))
}

func (e *quorumError) Unwrap() []error { return e.errs }

// first returns the first of errs that is not nil.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
