package redlock

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock/driver"
)

// Release gives the key back on all nodes, and returns when it is clear for a
// quorum what became of that. It goes on in the background with the others, until
// they have answered or the lease has run out there.
//
// It fails with [driver.ErrLost] if the owner has the key on so few nodes that
// it is no holder, and either g has tokens or another may hold it. A grant
// without tokens that nobody holds cannot be told from one that was released
// before, and so is no error. If too many nodes do not answer, it fails with
// their errors.
//
// After a release an attempt of the same owner that is still on its way is
// refused: an owner is good for one acquisition.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if err := checkNames(g.Key, g.Owner); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err // nothing was sent
	}
	if g.TTL <= 0 || g.TTL > b.opts.maxLease {
		g.TTL = b.opts.maxLease
	}
	type answer struct {
		found int64
		err   error
	}
	answers := make(chan answer, len(b.nodes))
	c := b.claims.release(g.Owner)
	for i := range b.nodes {
		b.claims.after(c, i, func() {
			d := debt{key: g.Key, owner: g.Owner, generation: everything, ttl: g.TTL, claim: c}
			if b.opts.tokens {
				d.first, d.last = g.Token, g.LastToken
			}
			if b.claims.doubtful(c, i) {
				d.doubts = everything
			}
			b.giveBack(ctx, i, d, func(found int64, err error) { answers <- answer{found, err} })
		})
	}
	b.claims.drop(c)

	t := tally{nodes: len(b.nodes), quorum: b.quorum, tokens: g.Token != 0}
	for {
		select {
		case a := <-answers:
			if over, err := t.add(a.found, a.err); over {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tally counts what a release has found.
type tally struct {
	nodes, quorum int
	tokens        bool // it is a grant for certain

	mine, other, nobody int
	errs                []error
}

// add returns true, and the outcome, when that cannot change any more.
func (t *tally) add(found int64, err error) (bool, error) {
	switch {
	case err != nil:
		t.errs = append(t.errs, err)
	case found == foundMine:
		t.mine++
	case found == foundNobody:
		t.nobody++
	default:
		t.other++
	}
	answered := t.mine + t.other + t.nobody
	all := answered+len(t.errs) == t.nodes
	notOurs := t.other+t.nobody > t.nodes-t.quorum
	switch {
	case t.mine >= t.quorum:
		return true, nil
	case notOurs && t.tokens:
		return true, errLeaseEnded
	case t.nobody >= t.quorum:
		return true, nil
	case t.other >= t.quorum, notOurs && all && t.other > 0:
		return true, errTaken
	case !all:
		return false, nil
	case answered >= t.quorum: // so many nodes do certainly not have it any more
		return true, nil
	default:
		return true, &quorumError{t.nodes, t.errs}
	}
}

var (
	errTaken      = fmt.Errorf("redlock: another has the key: %w", driver.ErrLost)
	errLeaseEnded = fmt.Errorf("redlock: the owner has not got the key any more: %w", driver.ErrLost)
)
