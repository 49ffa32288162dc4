package redlock

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// token is what a node says of the tokens of a lock.
type token struct {
	now         uint64 // its time, in microseconds
	first, last uint64 // minted last; zero if it knows of none
	ours        bool   // for this owner
}

var errNotKept = errors.New("redlock: the lock was lost while its tokens were written down")

// next returns the tokens of a grant: above everything that the nodes know of,
// and near the latest of their clocks, so that they also rise over what a node
// has lost. A block ends at that time: one that began there would outrun the
// clocks. An owner that has minted already gets the same, unless somebody else
// has minted since.
func next(known []token, want uint64) (first, last uint64) {
	var now, highest uint64
	var own token
	for _, t := range known {
		now, highest = max(now, t.now), max(highest, t.last)
		if t.ours && t.last > own.last {
			own = t
		}
	}
	switch {
	case own.last > 0 && own.last == highest:
		return own.first, own.last
	case highest == 0: // lost, perhaps: tokens below now may be taken
		return now, now
	default:
		first = max(highest+1, now-min(now, want-1))
		return first, max(first, min(now, first+want-1))
	}
}

// mint finds the tokens of an attempt that was granted, and writes them to a
// quorum before anybody sees them. A node counts if it has the lock for this
// owner at that time. Every later grant asks one of those nodes, after that.
func (a *attempt) mint(ctx context.Context) (token, error) {
	a.mu.Lock()
	var known []token
	pending := 0
	var ask []int
	for i, ans := range a.answers {
		if ans.kind.ours() {
			known = append(known, ans.token)
		}
		if ans.kind.ours() || ans.kind == none {
			ask = append(ask, i)
			pending++
		}
	}
	a.mu.Unlock()

	t := token{}
	t.first, t.last = next(known, uint64(max(a.r.Tokens, 1)))
	type written struct {
		here int64
		err  error
	}
	answers := make(chan written, len(ask))
	for _, i := range ask {
		a.b.claims.after(a.claim, i, func() {
			a.writeTokens(ctx, i, t, func(here int64, err error) {
				a.b.claims.drop(a.claim)
				answers <- written{here, err}
			})
		})
	}

	var errs []error
	for votes := 0; votes < a.b.quorum; {
		if votes+pending < a.b.quorum {
			err := errNotKept
			if len(errs) > 0 {
				err = &quorumError{len(a.b.nodes), errs}
			}
			a.fail(err, true)
			return token{}, err
		}
		select {
		case w := <-answers:
			pending--
			if w.err != nil {
				errs = append(errs, w.err)
			} else if w.here == 1 {
				votes++
			}
		case <-ctx.Done():
			a.fail(ctx.Err(), true)
			return token{}, ctx.Err()
		}
	}
	return t, nil
}

func (a *attempt) writeTokens(ctx context.Context, i int, t token, done func(int64, error)) {
	keys := []string{a.r.Key, tokenKey(a.r.Key)}
	args := []any{a.r.Owner, t.first, t.last}
	op := func(ctx context.Context, c redis.UniversalClient) (int64, error) {
		return mintScript.Run(ctx, c, keys, args...).Int64()
	}
	send(ctx, a.b.nodes[i], a.b.limit(a.r.TTL), op, func(here int64, _ bool, err error) { done(here, err) })
}
