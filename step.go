package distlock

import (
	"context"
	"errors"
	"fmt"
)

// Step is an operation under a lease; see [Lease.Step]. Only Do is required.
type Step struct {
	// Do does the work. Its changes should show only after Commit, or Undo should be
	// able to take them back.
	Do func(ctx context.Context) error

	// Commit makes the work count. It runs if Do succeeded and the lease is still valid.
	Commit func(ctx context.Context) error

	// Undo takes back the work of Do, which may be half done, and of a Commit that
	// failed. Its context does not end, so it should limit its own time. After a loss
	// another holder may have the key: Undo should touch only what this step wrote,
	// which the [Lease.Token] shows.
	Undo func(ctx context.Context) error
}

// Step runs an operation. It checks the lease before Do, between Do and Commit, and
// after Commit. The checks compare the clock with the deadline, as [Lease.Check] does,
// so they are right even if this process was paused. Only a resource that checks the
// [Lease.Token] can refuse an act that comes too late after a check.
//
//   - Lost before Do: nothing runs.
//   - Do fails, or the lease is lost when Do returns: Undo runs, and Commit does not.
//   - Commit fails: Undo runs.
//   - Lost when Commit succeeds: Undo does not run, because it is unknown whether the
//     commit came in time.
//
// The error begins with that of Do or Commit as it is. Joined behind it are an [*Error]
// that wraps [ErrLost] if the lease was lost, with Op "commit" if Commit succeeded and
// "step" otherwise, and the error of Undo. Without a Do nothing runs. If Do or Commit
// panics or calls [runtime.Goexit], Undo runs and the panic goes on.
//
// Do and Commit get ctx, cancelled with a cause that wraps ErrLost when the lease is
// over; Undo gets it without cancellation and deadline. It carries the lease unless it
// carries another one: locking the key again in a step is a re-entry, and in an Undo
// after a loss it is ErrLost at once. Step does not check whether ctx has ended.
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
