package redlock

// nodeTokens is what a node knows about the tokens of a lock.
type nodeTokens struct {
	now         uint64 // its time, in microseconds
	first, last uint64 // minted last; zero if the node knows none
	ours        bool   // minted for this owner
}

// nextTokens returns the tokens of a grant: above all tokens that the nodes know, and
// near the latest of their clocks, so that they are also above the tokens that a node
// has lost. The last token of a range is not after that time: ranges that began there
// would outrun the clocks. An owner that has minted already gets the same tokens,
// unless another owner has minted since.
func nextTokens(known []nodeTokens, want uint64) (first, last uint64) {
	var now, highest uint64
	var own nodeTokens
	for _, t := range known {
		now, highest = max(now, t.now), max(highest, t.last)
		if t.ours && t.last > own.last {
			own = t
		}
	}
	switch {
	case own.last > 0 && own.last == highest:
		return own.first, own.last
	case highest == 0: // the nodes may have lost them: tokens below now may be issued already
		return now, now
	default:
		first = max(highest+1, now-min(now, want-1))
		return first, max(first, min(now, first+want-1))
	}
}
