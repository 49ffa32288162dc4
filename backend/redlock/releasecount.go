package redlock

// releaseCount counts what the nodes say about a release.
type releaseCount struct {
	nodes, quorum int
	tokens        bool // the grant has tokens, so it was granted for certain

	mine, other, nobody int
	errs                []error
}

// add adds the answer of a node. If known is false, the release was repeated there, and what
// it has not found it may have given back itself. add returns true, and the error of the
// release, when the outcome is certain.
func (c *releaseCount) add(found int64, known bool, err error) (bool, error) {
	switch {
	case err != nil:
		c.errs = append(c.errs, err)
	case found == foundMine, !known:
		c.mine++
	case found == foundNobody:
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
