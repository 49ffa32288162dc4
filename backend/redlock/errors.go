package redlock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/distlock-go/distlock/driver"
)

var (
	errReleased = errors.New("redlock: this owner has released the lock")
	errFormat   = errors.New("redlock: acquire.lua returned a reply of another format")
	errSilent   = errors.New("not asked, because it does not answer")
	errTaken    = fmt.Errorf("redlock: another owner has the key: %w", driver.ErrLost)
	errExpired  = fmt.Errorf("redlock: the owner does not have the key any more: %w", driver.ErrLost)
	errDenied   = errors.New("redlock: the lock was lost while its tokens were stored")
)

// quorumError says which nodes have failed, and why, if too many have. It is one line.
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
