package redlock

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// outcome is what an attempt has done on one node.
type outcome int

const (
	noReply     outcome = iota // so far
	heldByOther                // another owner has the lock
	foreign                    // the key is of another type
	acquired                   // by this attempt
	alreadyHeld                // by this attempt, which was sent twice, or by an earlier one
	refused                    // or no answer came
)

// ours reports whether the node has the lock for this owner.
func (o outcome) ours() bool { return o == acquired || o == alreadyHeld }

// answer is what an attempt knows about one node.
type answer struct {
	outcome   outcome
	dataAge   time.Duration    // if the lock is ours
	other     driver.HeldError // if another owner has it
	owner     string           // of the other
	tokens    nodeTokens
	run       string // the run_id of the server, if the lock is ours and it is known
	err       error
	doubt     bool // what was sent may still take effect, perhaps only the first of two copies
	releasing bool // what was acquired is released
}

// answers come from all nodes.
type answers []answer

// foreignPrefix is the prefix of an error of acquire.lua that names a foreign type.
const foreignPrefix = "FOREIGN "

// parseReply parses the reply of acquire.lua. Known means that nothing takes effect
// after the reply, or after the error.
func parseReply(reply []any, known bool, err error) answer {
	ans := answer{outcome: refused, doubt: !known, err: err}
	n, rest := rediskit.Numbers(reply)
	switch {
	case err != nil:
		if known && redis.HasErrorPrefix(err, foreignPrefix) {
			ans.outcome = foreign
		}
	case len(n) == 3 && len(rest) == 1 && n[0] == 0:
		record, _ := rest[0].(string)
		ans.outcome = heldByOther
		ans.owner, _, _ = strings.Cut(record, " ") // the generation follows
		ans.other = driver.HeldError{
			RetryAfter: leaseLeft(n[1]), Held: time.Duration(max(n[2], 0)) * time.Microsecond, Holder: driver.HolderOf(ans.owner),
		}
	case len(n) == 6 && len(rest) == 1 && (n[0] == 1 || n[0] == 2):
		ans.outcome = acquired
		if n[0] == 2 {
			ans.outcome = alreadyHeld
		}
		ans.dataAge = time.Duration(n[1]) * time.Microsecond
		ans.tokens = nodeTokens{now: uint64(n[2]), first: uint64(n[3]), last: uint64(n[4]), ours: n[5] == 1}
		ans.run, _ = rest[0].(string)
	default: // the script may have acquired the lock all the same
		ans.doubt, ans.err = true, errFormat
	}
	return ans
}

// leaseLeft returns the rest of the lease of another owner, if its key exists for so
// many milliseconds more.
func leaseLeft(pttl int64) time.Duration {
	if pttl < 0 {
		return 0
	}
	d := time.Duration(pttl) * time.Millisecond
	return max((d-2*time.Millisecond)*100/101, time.Millisecond)
}

// count returns how many answers have the outcome.
func (as answers) count(o outcome) (n int) {
	for i := range as {
		if as[i].outcome == o {
			n++
		}
	}
	return n
}

// votes returns how many nodes have the lock for this owner and count.
func (as answers) votes() (n int) {
	for i := range as {
		if as[i].outcome.ours() && as[i].err == nil {
			n++
		}
	}
	return n
}

// tokens returns what the nodes with the lock know about its tokens, and the nodes that
// have the lock or may still get it.
func (as answers) tokens() (known []nodeTokens, nodes []int) {
	for i := range as {
		if as[i].outcome.ours() {
			known = append(known, as[i].tokens)
		}
		if as[i].outcome.ours() || as[i].outcome == noReply {
			nodes = append(nodes, i)
		}
	}
	return known, nodes
}

// heldError returns the holder of the key, and when the first node becomes free: then a
// quorum may be. If the nodes have different holders, possibly none has the lock, and the
// error names none.
func (as answers) heldError() (all *driver.HeldError) {
	for i := range as {
		other := &as[i].other
		switch {
		case as[i].outcome != heldByOther:
			continue
		case all == nil:
			all = other
		case all.Holder != other.Holder:
			all.Holder, all.Held = "", 0
		default:
			all.Held = max(all.Held, other.Held)
		}
		if d := other.RetryAfter; d > 0 && (all.RetryAfter == 0 || d < all.RetryAfter) {
			all.RetryAfter = d
		}
	}
	return all
}

// split reports whether none of the other owners has the lock on a quorum of the nodes,
// as far as is known. On a node that has failed, the holder may have it.
func (as answers) split(quorum int) bool {
	nodes := make(map[string]int)
	for i := range as {
		if as[i].outcome == heldByOther {
			nodes[as[i].owner]++
		}
		if as[i].err != nil || nodes[as[i].owner] >= quorum {
			return false
		}
	}
	return true
}

// foreignError says on how many nodes the key is of which type.
func (as answers) foreignError() error {
	typ := ""
	for i := range as {
		if as[i].outcome == foreign {
			_, typ, _ = strings.Cut(as[i].err.Error(), foreignPrefix)
		}
	}
	return fmt.Errorf("redlock: %w: a %s on %d of %d nodes", driver.ErrForeign, typ, as.count(foreign), len(as))
}

func (as answers) quorumError() error {
	var errs []error
	for i := range as {
		if as[i].err != nil {
			errs = append(errs, as[i].err)
		}
	}
	return &quorumError{len(as), errs}
}
