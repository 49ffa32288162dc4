package etcdlock

import "fmt"

// tokensPerRevision is how many fencing tokens one revision yields. A revision belongs to
// one write, and revisions rise for as long as the cluster keeps its data. The tokens of a
// grant are made of the revision of the last write to the owner's key in etcd, so the
// tokens of a later write are larger than all tokens of an earlier one.
const tokensPerRevision = 1024

// tokens returns n tokens of the revision, at least one and at most tokensPerRevision.
func tokens(revision int64, n int) (first, last uint64, err error) {
	const limit = 1<<64/tokensPerRevision - 1
	if revision <= 0 || uint64(revision) > limit {
		return 0, 0, fmt.Errorf("etcdlock: revision %d is out of range for tokens", revision)
	}
	first = uint64(revision) * tokensPerRevision
	return first, first + uint64(min(max(n, 1), tokensPerRevision)) - 1, nil
}
