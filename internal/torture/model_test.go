package torture

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// The kinds of steps of the model.
const (
	stepAcquire = "acquire"
	stepWrite   = "write"
	stepRelease = "release"
	stepExpire  = "expire" // of the environment: the lease runs out in the store
	stepForget  = "forget" // of the environment: the store loses its data
	stepFrom    = "from"   // the history was cut here: the state is this
	stepTo      = "to"     // the history was cut here: the state must be this
)

// step is the input of a step of the model.
type step struct {
	kind  string
	lease *lease
	state state // of from and to
}

// state is what the store and the register know of one key.
type state struct {
	holder  *lease
	highest uint64 // token that was granted
	largest uint64 // token that the register has seen
}

// model is a lock and the register that it protects. A history of one key is legal
// if its operations can be put in an order in which each lies between its call and
// its return, and
//
//   - an acquisition is granted only if nobody has the key, with a token larger than
//     that of every grant before (P1, P3);
//   - the holder stops having the key when its release takes effect, when its lease
//     runs out in the store, or when the store loses its data, and in no other way
//     (P6). A lease runs out at any time, or never, from the end of what the store has
//     confirmed to the holder last (P2), whatever has become of its process (P7). If a
//     process does not live to ask, that is what it had heard of;
//   - a release that returned nil took effect on the holder's own grant. One that said
//     the lease was lost, or of which nobody knows how it ended, may have taken effect
//     at any time from its call on, or never;
//   - the register accepts a write if the token is not below the largest it has seen,
//     and else refuses it. This is asked of holders and of those that think they are (P4).
//     One of which nobody knows how it ended may have come to it, or not.
//
// An acquisition that failed, or of which nobody knows how it ended, is not in the
// history: what it may have taken nobody uses, so it only keeps others waiting.
//
// When the store has lost its data, an orphaned lease may also be none: granted
// besides the others by a process which did not know yet, with whatever token.
var model = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{state{}} },
	Step: func(s, input, output any) []any {
		return input.(step).apply(s.(state), output.(outcome))
	},
	DescribeOperation: func(input, output any) string {
		i := input.(step)
		if i.lease == nil {
			return i.kind
		}
		return fmt.Sprintf("%s %d: %s", i.kind, i.lease.Token, output)
	},
	DescribeState: func(s any) string {
		v := s.(state)
		if v.holder == nil {
			return fmt.Sprintf("free, granted %d, written %d", v.highest, v.largest)
		}
		return fmt.Sprintf("held by %v, granted %d, written %d", v.holder, v.highest, v.largest)
	},
}).ToModel()

// apply returns the states that the step may lead to.
func (i step) apply(s state, o outcome) []any {
	l, next := i.lease, s
	switch i.kind {
	case stepAcquire:
		var states []any
		if s.holder == nil && l.Token > s.highest {
			next.holder, next.highest = l, l.Token
			states = append(states, next)
		}
		if l.Orphan {
			states = append(states, s)
		}
		return states
	case stepWrite:
		fits := l.Token >= s.largest
		next.largest = max(s.largest, l.Token)
		switch {
		case o == unknown && fits:
			return []any{s, next}
		case o == unknown || o == failed && !fits:
			return []any{s}
		case o == ok && fits:
			return []any{next}
		default:
			return nil
		}
	case stepRelease:
		if s.holder == l {
			next.holder = nil
			return []any{next}
		}
		if o == ok && !l.Orphan {
			return nil
		}
		return []any{s}
	case stepExpire:
		if s.holder == l {
			next.holder = nil
		}
		return []any{next}
	case stepForget:
		next.holder = nil
		return []any{next}
	case stepFrom:
		return []any{i.state}
	case stepTo:
		if s != i.state {
			return nil
		}
		return []any{s}
	default:
		panic("model: step " + i.kind)
	}
}
