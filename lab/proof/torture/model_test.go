package torture

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"
)

// The kinds of steps of the model.
const (
	stepAcquire = "acquire"
	stepUse     = "use"   // a write, or a read by a lease that shares the key
	stepRenew   = "renew" // or a loss that the store told of
	stepKeep    = "keep"  // a release after which the holder keeps the key until the lease expires
	stepRelease = "release"
	stepExpire  = "expire" // of the environment: the lease expires in the store
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

// state is the state of the store and the register for one key.
type state struct {
	holders []*lease     // in the order of their tokens; some may be [lease.left]
	highest [ways]uint64 // largest token granted for each way of having the key, or earlier for any way
	largest uint64       // the largest token that the register has accepted
}

func (s state) equal(o state) bool {
	return s.highest == o.highest && s.largest == o.largest && slices.Equal(s.holders, o.holders)
}

// with and without return the state with l as a holder, and without it.
func (s state) with(l *lease) state {
	i, _ := slices.BinarySearchFunc(s.holders, l, func(a, b *lease) int { return cmp.Compare(a.Token, b.Token) })
	s.holders = slices.Insert(slices.Clone(s.holders), i, l)
	for w := range s.highest {
		if w == l.way() || l.way() == alone {
			s.highest[w] = max(s.highest[w], l.Token)
		}
	}
	return s
}

func (s state) without(l *lease) state {
	s.holders = slices.DeleteFunc(slices.Clone(s.holders), func(o *lease) bool { return o == l })
	return s
}

// find returns the place of a holder with the owner of l, or -1.
func (s state) find(l *lease) int {
	return slices.IndexFunc(s.holders, func(o *lease) bool { return o.owner() == l.owner() })
}

// handOver takes what the last holder of the owner has left to l. It reports whether l may
// have the key from another holder in its process, or is the first.
func (s *state) handOver(l *lease) bool {
	if l.owner() == l {
		return true
	}
	i := s.find(l)
	if i < 0 || !l.Handed {
		return false
	}
	before := s.holders[i]
	if before.passed {
		*s = s.without(before)
		return before.Token < l.Token || l.way() == reading
	}
	return l.way() == reading
}

// grants reports whether l may be granted.
func (s state) grants(l *lease) bool {
	for w, highest := range s.highest {
		if l.Token <= highest && (w != l.way() || w == alone) {
			return false
		}
	}
	return len(l.rivals(s.holders)) == 0
}

// model is the next-state relation of lab/spec/lease.qnt as far as a history shows it, and has
// readers and permits besides: a lock and the register that it protects. A history of one key is
// legal if its operations can be put in an order in which each lies between its call and its
// return, and
//
//   - an acquisition is granted only if the key has no holder, or both it and the holders
//     are readers, or both have permits and there are fewer holders than the number of
//     permits it asked for. Its token is larger than the token of every earlier grant,
//     except grants that it may share the key with (P1, P3). The store grants the key to an owner
//     once: its other leases are handed over in its process, while the store has the owner. A
//     reader may join others, and the rest get the key when the holder before has left it;
//   - a renewal succeeds only if the holder has the key. One that the store refused, before
//     the time that it had confirmed was over, must find the holder without it;
//   - a holder loses the key only when its release takes effect, when its lease expires
//     in the store, or when the store loses its data (P6). A lease may expire at any time
//     from the end that the store has last confirmed to the holder (P2), even if its
//     process is dead (P7), or not at all. If a process died, that is the last
//     confirmation that it received;
//   - after a release that returned nil before MinHold was over, the holder keeps the
//     key until then;
//   - any other release that returned nil took effect on the holder's own grant. A
//     release that reported a lost lease, or has an unknown outcome, may have taken
//     effect at any time after its call, or never;
//   - the register accepts a write, or a read by a lease that shares the key, if the
//     token is not below the largest that it has accepted, and otherwise refuses it. This
//     applies to holders and to workers that trust a lost lease (P4).
//
// A failed acquisition, or one with an unknown outcome, is not in the history: its
// grant is not used and only makes others wait.
//
// When the store has lost its data, a lease may also be orphaned: it exists beside the
// others, with any token, in a process that does not know about the loss yet.
var model = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{state{}} },
	Step: func(s, input, output any) []any {
		return input.(step).apply(s.(state), output.(outcome))
	},
	Equal: func(s, t any) bool { return s.(state).equal(t.(state)) },
}).ToModel()

// apply returns the states to which the step may lead.
func (i step) apply(s state, o outcome) []any {
	l := i.lease
	switch i.kind {
	case stepAcquire:
		var states []any
		if next := s; next.handOver(l) && next.grants(l) {
			states = append(states, next.with(l))
		}
		if l.Orphan {
			states = append(states, s)
		}
		return states
	case stepUse:
		fits, next := l.Token >= s.largest, s
		if !l.shares() {
			next.largest = max(s.largest, l.Token)
		}
		switch {
		case o == failed && !fits:
			return []any{s}
		case o == ok && fits:
			return []any{next}
		default:
			return nil
		}
	case stepRenew:
		if slices.Contains(s.holders, l) != (o == ok) {
			return nil
		}
		return []any{s}
	case stepKeep, stepRelease:
		has := slices.Contains(s.holders, l)
		switch {
		case !has && o == ok && !l.Orphan:
			return nil
		case !has || i.kind == stepKeep:
			return []any{s}
		}
		next := s.without(l)
		if l.left == nil || next.find(l) >= 0 {
			return []any{next}
		}
		return []any{next, next.with(l.left)}
	case stepExpire:
		return []any{s.without(l)}
	case stepForget:
		s.holders = nil
		return []any{s}
	case stepFrom:
		return []any{i.state}
	case stepTo:
		if !s.equal(i.state) {
			return nil
		}
		return []any{s}
	default:
		panic("model: step " + i.kind)
	}
}
