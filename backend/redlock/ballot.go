package redlock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/distlock-go/distlock/driver"
)

// vote is the answer of one node.
type vote struct {
	value int64
	known bool // nothing takes effect after the answer
	err   error
}

// ballot receives the votes of nodes, and has room for all of them.
type ballot chan vote

func newBallot(nodes int) ballot { return make(ballot, nodes) }

// cast is called once for each node, see [send].
func (b ballot) cast(value int64, known bool, err error) { b <- vote{value, known, err} }

// releaseCount counts what the nodes say about a release.
type releaseCount struct {
	nodes, quorum int
	tokens        bool // the grant has tokens, so it was granted for certain

	mine, other, nobody int
	errs                []error
}

// add adds the vote of a node. If it is not known, the release was repeated there, and
// what it has not found it may have given back itself. add returns true, and the error
// of the release, when the outcome is certain.
func (c *releaseCount) add(v vote) (bool, error) {
	switch {
	case v.err != nil:
		c.errs = append(c.errs, v.err)
	case v.value == foundMine, !v.known:
		c.mine++
	case v.value == foundNobody:
		c.nobody++
	default:
		c.other++
	}
	answered := c.mine + c.other + c.nobody
	all := answered+len(c.errs) == c.nodes
	notOurs := c.other+c.nobody > c.nodes-c.quorum
	switch {
	case c.mine >= c.quorum:
		return true, nil
	case notOurs && c.tokens:
		return true, errExpired
	case c.nobody >= c.quorum:
		return true, nil
	case c.other >= c.quorum, notOurs && all && c.other > 0:
		return true, errTaken
	case !all:
		return false, nil
	case answered >= c.quorum: // so many nodes do not have the lock any more
		return true, nil
	default:
		return true, &quorumError{c.nodes, c.errs}
	}
}

var (
	errReleased = errors.New("redlock: this owner has released the lock")
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
