package zklock

import "fmt"

// tokensPerID is how many fencing tokens are made of one transaction ID. Those of
// ZooKeeper are unique and rise over sessions, restarts and leaders, and a node's
// is that of its creation. So the tokens of a later node are larger than all of an
// earlier one.
const tokensPerID = 64

// tokens returns the block of n tokens, or of as many as there are, that the
// transaction ID stands for.
func tokens(zxid int64, n int) (first, last uint64, err error) {
	const limit = 1<<64/tokensPerID - 1
	if zxid <= 0 || uint64(zxid) > limit {
		return 0, 0, fmt.Errorf("zklock: transaction ID %#x is out of range for tokens", zxid)
	}
	first = uint64(zxid) * tokensPerID
	return first, first + uint64(min(max(n, 1), tokensPerID)) - 1, nil
}
