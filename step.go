package distlock

import (
	"context"
	"errors"
	"fmt"
)

// Step is an operation under a lease in up to three parts; see [Lease.Step].
type Step struct {
	// Do does the work. What it changes should show only after Commit, or be
	// such that Undo can take it back. Required.
	Do func(ctx context.Context) error

	// Commit makes the work count. It runs only if Do succeeded and the lease
	// is still valid after it. Without one, Do alone is the operation.
	Commit func(ctx context.Context) error

	// Undo takes back what Do did, and what Commit did if that failed. Do may
	// have done half of it. Its context does not end, so it should bound its own
	// time. Without one, nothing is taken back.
	//
	// After a loss another may hold the key already, so Undo should touch
	// nothing but what this very step wrote: the [Lease.Token] tells.
	Undo func(ctx context.Context) error
}

// Step runs an operation with the lease checked before Do, between Do and
// Commit, and after Commit. The checks look at the clock, as [Lease.Check]
// does, so they are right even if this process was paused and nobody could tell
// it; that is more than the cancelled context can do. What happens between a
// check and the act it allows, only a resource that checks the [Lease.Token]
// can refuse.
//
//   - Lost before Do: nothing runs.
//   - Do fails, or the lease is lost by the time that it has returned: Commit
//     does not run, Undo does.
//   - Commit fails: Undo runs.
//   - Lost by the time that Commit has succeeded: what was committed stands and
//     Undo does not run, because whether it came in time is unknown.
//
// The error begins with that of Do or Commit as it is. Behind it are joined, if
// the lease was lost, an [*Error] that wraps [ErrLost], and what Undo said. The
// Op of that Error is "commit" if Commit had succeeded, else "step". Without a
// Do nothing runs either. If Do or Commit panics or calls [runtime.Goexit], Undo
// runs and the panic goes on.
//
// Do and Commit get ctx, cancelled with a cause that wraps ErrLost as soon as
// the lease is over; Undo gets it without cancellation and deadline. The lease
// is in all of them, unless ctx carries another: to lock the key again below a
// step is a re-entry, and in an Undo after a loss it is ErrLost at once, not a
// wait for oneself. Whether ctx itself has ended is for Do and Commit to ask.
//
// The order is that of a published scheme for locks with a heartbeat: the
// executor does not rely on being told of a loss but compares the clock with the
// validity before each operation, and again after it before it commits, and
// otherwise undoes it.
func (s *Lease) Step(ctx context.Context, step Step) error {
	if step.Do == nil {
		return s.fail("step", errors.New("Step.Do is nil"))
	}
	if err := s.over(); err != nil {
		return s.fail("step", err)
	}
	ctx, end := s.tie(ctx)
	defer end()

	undo := step.undo(ctx)
	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit
			_ = undo() // nobody is left to be told
		}
	}()
	err := step.Do(ctx)
	lost := s.over()
	if err == nil && lost == nil && step.Commit != nil {
		err = step.Commit(ctx)
		lost = s.over()
		if err == nil {
			returned = true
			return s.fail("commit", lost)
		}
	}
	returned = true // whatever becomes of Undo, it is not run twice
	if err == nil && lost == nil {
		return nil
	}
	return join(join(err, s.fail("step", lost)), undo())
}

// undo returns what runs Undo, beyond the end of ctx.
func (step *Step) undo(ctx context.Context) func() error {
	f := step.Undo
	return func() error {
		if f == nil {
			return nil
		}
		if err := f(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("undo: %w", err)
		}
		return nil
	}
}

// tie returns ctx as the context of an operation under s: it ends with the
// lease, too, and carries it unless it carries another.
func (s *Lease) tie(ctx context.Context) (_ context.Context, end func()) {
	if _, ok := FromContext(ctx); !ok {
		ctx = context.WithValue(ctx, leaseKey{}, s)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	untie := context.AfterFunc(&s.ctx, func() { cancel(context.Cause(&s.ctx)) })
	return ctx, func() {
		untie()
		cancel(nil)
	}
}
