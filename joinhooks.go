package distlock

import (
	"context"
	"slices"
)

// JoinHooks returns hooks that call all given hooks in this order; Failed, Released and
// Resigned, which end what Start began, in reverse. Each Start gets the context of the
// Start before it. If a hook panics, the others are still called, except that no Start
// follows a Start that panicked.
func JoinHooks(hooks ...Hooks) Hooks {
	var starts []func(context.Context, StartInfo) context.Context
	for _, h := range hooks {
		if h.Start != nil {
			starts = append(starts, h.Start)
		}
	}
	var joined Hooks
	if len(starts) > 0 {
		joined.Start = func(ctx context.Context, i StartInfo) context.Context {
			for _, start := range starts {
				ctx = start(ctx, i) //nolint:fatcontext // each is below the one before
			}
			return ctx
		}
	}
	joined.Acquired = inOrder(hooks, func(h *Hooks) hook[AcquiredInfo] { return h.Acquired })
	joined.Renewed = inOrder(hooks, func(h *Hooks) hook[RenewedInfo] { return h.Renewed })
	joined.Lost = inOrder(hooks, func(h *Hooks) hook[LostInfo] { return h.Lost })
	joined.Failed = inReverse(hooks, func(h *Hooks) hook[FailedInfo] { return h.Failed })
	joined.Released = inReverse(hooks, func(h *Hooks) hook[ReleasedInfo] { return h.Released })
	joined.Resigned = inReverse(hooks, func(h *Hooks) hook[ResignedInfo] { return h.Resigned })
	return joined
}

// hook is any hook except Start.
type hook[Info any] = func(ctx context.Context, i Info)

func inOrder[Info any](hooks []Hooks, of func(h *Hooks) hook[Info]) hook[Info] {
	reversed := slices.Clone(hooks)
	slices.Reverse(reversed)
	return inReverse(reversed, of)
}

// inReverse returns a function that calls one hook of each element, the last first, or
// nil if no element has that hook.
func inReverse[Info any](hooks []Hooks, of func(h *Hooks) hook[Info]) hook[Info] {
	var all []hook[Info]
	for i := range hooks {
		if h := of(&hooks[i]); h != nil {
			all = append(all, h)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return func(ctx context.Context, i Info) {
		for _, h := range all {
			defer h(ctx, i) //nolint:gocritic // deferred, so that the others are called even if one panics
		}
	}
}
