package distlock

import (
	"context"
	"errors"
	"slices"
)

// JoinHooks returns hooks that call all given hooks in this order; Failed and Released,
// which end what Start began, in reverse. Each Start gets the context of the
// Start before it. If a Start panics, the hooks before it get Failed; if another hook does,
// the others are still called.
func JoinHooks(hooks ...Hooks) Hooks {
	hooks = slices.Clone(hooks)
	joined := Hooks{Start: startInOrder(hooks)}
	joined.Acquired = inOrder(hooks, func(h *Hooks) hook[AcquiredInfo] { return h.Acquired })
	joined.Renewed = inOrder(hooks, func(h *Hooks) hook[RenewedInfo] { return h.Renewed })
	joined.Lost = inOrder(hooks, func(h *Hooks) hook[LostInfo] { return h.Lost })
	joined.Failed = inReverse(hooks, func(h *Hooks) hook[FailedInfo] { return h.Failed })
	joined.Released = inReverse(hooks, func(h *Hooks) hook[ReleasedInfo] { return h.Released })
	return joined
}

// errStart is why an acquisition failed before it began.
var errStart = errors.New("a Start hook did not return")

func startInOrder(hooks []Hooks) func(context.Context, LockInfo) context.Context {
	if !slices.ContainsFunc(hooks, func(h Hooks) bool { return h.Start != nil }) {
		return nil
	}
	return func(ctx context.Context, i LockInfo) context.Context {
		at := 0
		defer func() {
			if at == len(hooks) {
				return
			}
			// a panic, or runtime.Goexit
			if failed := inReverse(hooks[:at], func(h *Hooks) hook[FailedInfo] { return h.Failed }); failed != nil {
				failed(ctx, FailedInfo{LockInfo: i, Err: &Error{Op: "acquire", Key: i.Key, Err: errStart}})
			}
		}()
		for ; at < len(hooks); at++ {
			if start := hooks[at].Start; start != nil {
				ctx = start(ctx, i) //nolint:fatcontext // each is below the one before
			}
		}
		return ctx
	}
}

// hook is any hook except Start.
type hook[Info any] = func(ctx context.Context, i Info)

// inReverse is inOrder with the last hook first.
func inReverse[Info any](hooks []Hooks, of func(h *Hooks) hook[Info]) hook[Info] {
	reversed := slices.Clone(hooks)
	slices.Reverse(reversed)
	return inOrder(reversed, of)
}

// inOrder returns a function that calls one hook of each element, the first one first, or
// nil if no element has that hook.
func inOrder[Info any](hooks []Hooks, of func(h *Hooks) hook[Info]) hook[Info] {
	var all []hook[Info]
	for i := range hooks {
		if h := of(&hooks[i]); h != nil {
			all = append(all, h)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	default:
		return func(ctx context.Context, i Info) { callAll(all, ctx, i) }
	}
}

// callAll calls each hook, even if one before it panics. It defers outside of a loop, so it
// does not allocate.
func callAll[Info any](all []hook[Info], ctx context.Context, i Info) { //nolint:revive // ctx is an argument of the hooks
	if len(all) > 1 {
		defer callAll(all[1:], ctx, i)
	}
	all[0](ctx, i)
}
