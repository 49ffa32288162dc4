package distlock

import (
	"context"
	"fmt"
)

// Step is an operation under a lease; see [Lease.Step]. The changes of Do should not show
// before Commit, or Undo should take them back, in limited time. After a loss another holder
// may have the key, so Undo should touch only what the [Lease.Token] shows as its own.
type Step struct {
	Do     func(ctx context.Context) error // required
	Commit func(ctx context.Context) error // makes the work count, if Do succeeded and the lease is valid
	Undo   func(ctx context.Context) error // takes back the work of Do, perhaps half done, and of a failed Commit
}

// Step runs an operation and calls [Lease.Check] before Do, between Do and Commit, and after
// Commit.
//
//   - Lost before Do: nothing runs.
//   - Do fails, or the lease is lost by then: Undo runs, Commit does not.
//   - Commit fails: Undo runs.
//   - Lost when Commit succeeds: Undo does not run, because the commit may have come in
//     time.
//
// The error begins with the error of Do or Commit. Joined behind it are, if the lease was
// lost, an [*Error] that wraps [ErrLost], with Op "commit" if Commit succeeded and
// otherwise "step", and the error of Undo. If Do or Commit panics or calls
// [runtime.Goexit], Undo runs and the panic goes on.
//
// Do and Commit get ctx, cancelled with a cause that wraps ErrLost when the lease is over;
// Undo gets it without cancellation and deadline. It carries the lease unless it carries
// another. Step does not check whether ctx has ended.
func (lease *Lease) Step(ctx context.Context, step Step) error {
	if step.Do == nil {
		return noFunction(lease.Key())
	}
	if err := lease.over(); err != nil {
		return lease.fail("step", err)
	}
	ctx, end := lease.under(ctx)
	defer end()

	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit
			_ = step.undo(ctx) // no caller is left to be told
		}
	}()
	err := step.Do(ctx)
	lost := lease.over()
	if err == nil && lost == nil && step.Commit != nil {
		err = step.Commit(ctx)
		lost = lease.over()
		if err == nil {
			returned = true
			return hasRun(lease.fail("commit", lost))
		}
	}
	returned = true // Undo does not run twice, even if it panics
	if err == nil && lost == nil {
		return nil
	}
	if walk(err, lease.isLoss) {
		lost = nil // Do or Commit says so
	}
	return hasRun(err, lease.fail("step", lost), step.undo(ctx))
}

// undo runs Undo, even if ctx has ended.
func (step *Step) undo(ctx context.Context) error {
	if step.Undo == nil {
		return nil
	}
	if err := step.Undo(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	return nil
}

// under returns ctx as the context of an operation under the lease: it ends with the lease, too,
// and carries the lease unless it carries another.
func (lease *Lease) under(ctx context.Context) (_ context.Context, end func()) {
	if _, ok := FromContext(ctx); !ok {
		ctx = context.WithValue(ctx, leaseKey{}, lease)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	untie := context.AfterFunc(&lease.ctx, func() { cancel(context.Cause(&lease.ctx)) })
	return ctx, func() {
		untie()
		cancel(nil)
	}
}
