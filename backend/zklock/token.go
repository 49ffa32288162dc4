package zklock

import "fmt"

// tokensPerID is how many fencing tokens one transaction ID yields. Transaction IDs are
// unique and rise over sessions, restarts and leaders. The ID of a node is that of the
// transaction that created it. So the tokens of a later node are larger than all tokens
// of an earlier one.
const tokensPerID = 64

// tokens returns n tokens of the transaction ID, at least one and at most tokensPerID.
func tokens(zxid int64, n int) (first, last uint64, err error) {
	const limit = 1<<64/tokensPerID - 1
	if zxid <= 0 || uint64(zxid) > limit {
		return 0, 0, fmt.Errorf("zklock: transaction ID %#x is out of range for tokens", zxid)
	}
	first = uint64(zxid) * tokensPerID
	return first, first + uint64(min(max(n, 1), tokensPerID)) - 1, nil
}
