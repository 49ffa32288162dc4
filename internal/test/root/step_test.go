package test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

var (
	errDo     = errors.New("do failed")
	errCommit = errors.New("commit failed")
	errUndo   = errors.New("undo failed")
)

func TestStep(t *testing.T) {
	const do, commit, undo = "do", "commit", "undo"
	for name, c := range map[string]struct {
		lose   string // the part during which the lease is lost, or "before"
		fail   map[string]error
		no     []string // parts that are nil
		ran    []string
		want   []error // in this order
		op     string  // of the Error about the lease
		absent []error
	}{
		"all is well":                    {ran: []string{do, commit}},
		"no commit":                      {no: []string{commit}, ran: []string{do}},
		"do alone":                       {no: []string{commit, undo}, ran: []string{do}},
		"lost before do":                 {lose: "before", want: []error{distlock.ErrLost}, op: "step"},
		"lost in do":                     {lose: do, ran: []string{do, undo}, want: []error{distlock.ErrLost}, op: "step"},
		"lost in do, no commit":          {lose: do, no: []string{commit}, ran: []string{do, undo}, want: []error{distlock.ErrLost}, op: "step"},
		"lost in do, no undo":            {lose: do, no: []string{undo}, ran: []string{do}, want: []error{distlock.ErrLost}, op: "step"},
		"lost in do, undo fails":         {lose: do, fail: map[string]error{undo: errUndo}, ran: []string{do, undo}, want: []error{distlock.ErrLost, errUndo}, op: "step"},
		"do fails":                       {fail: map[string]error{do: errDo}, ran: []string{do, undo}, want: []error{errDo}, absent: []error{distlock.ErrLost}},
		"do fails, no undo":              {fail: map[string]error{do: errDo}, no: []string{undo}, ran: []string{do}, want: []error{errDo}},
		"do and undo fail":               {fail: map[string]error{do: errDo, undo: errUndo}, ran: []string{do, undo}, want: []error{errDo, errUndo}},
		"do fails and is lost":           {lose: do, fail: map[string]error{do: &distlock.Error{Op: "step", Key: "k", Err: errDo}, undo: errUndo}, ran: []string{do, undo}, want: []error{errDo, distlock.ErrLost, errUndo}, op: "step"},
		"commit fails":                   {fail: map[string]error{commit: errCommit}, ran: []string{do, commit, undo}, want: []error{errCommit}},
		"commit and undo fail":           {fail: map[string]error{commit: errCommit, undo: errUndo}, ran: []string{do, commit, undo}, want: []error{errCommit, errUndo}},
		"lost in commit":                 {lose: commit, ran: []string{do, commit}, want: []error{distlock.ErrLost}, op: "commit"},
		"lost in commit, which fails":    {lose: commit, fail: map[string]error{commit: errCommit}, ran: []string{do, commit, undo}, want: []error{errCommit, distlock.ErrLost}, op: "step"},
		"lost before do, nothing to say": {lose: "before", no: []string{commit, undo}, want: []error{distlock.ErrLost}, op: "step"},
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
			lose := func(part string) {
				if c.lose == part {
					s.Memory().Drop("k")
					<-held.Context().Done()
				}
			}
			var ran []string
			part := func(name string) func(context.Context) error {
				if slices.Contains(c.no, name) {
					return nil
				}
				return func(ctx context.Context) error {
					ran = append(ran, name)
					if ctx.Err() != nil {
						t.Errorf("%s got a context that has ended", name)
					}
					lose(name)
					if c.lose == name {
						<-ctx.Done()
					}
					return c.fail[name]
				}
			}
			lose("before")
			err := held.Step(t.Context(), distlock.Step{Do: part(do), Commit: part(commit), Undo: part(undo)})
			if !slices.Equal(ran, c.ran) {
				t.Errorf("ran %v, want %v", ran, c.ran)
			}
			wantInOrder(t, err, c.want)
			if len(c.want) == 1 && c.want[0] != distlock.ErrLost && err != c.want[0] { //nolint:errorlint // the same value
				t.Errorf("a lone error came back as %#v", err)
			}
			for _, e := range c.absent {
				if errors.Is(err, e) {
					t.Errorf("%v matches %v", err, e)
				}
			}
			e, ok := errors.AsType[*distlock.Error](err)
			if ok != (c.op != "") || ok && (e.Op != c.op || e.Key != "k") {
				t.Errorf("error %v is about %+v, want op %q", err, e, c.op)
			}
			_ = held.Release(t.Context())
		})
	}
}

// The process is paused inside Do for longer than the lease: the clock shows the loss.
func TestStepLooksAtTheClock(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		s.Hang(testkit.Renew)
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: time.Second})
		undone := false
		err := held.Step(t.Context(), distlock.Step{
			Do:     func(context.Context) error { time.Sleep(time.Until(held.Until())); return nil },
			Commit: func(context.Context) error { t.Error("committed at the end of the lease"); return nil },
			Undo:   func(context.Context) error { undone = true; return nil },
		})
		wantIs(t, err, distlock.ErrLost)
		if !undone {
			t.Error("not undone")
		}
		_ = held.Release(t.Context())
	})
}

func TestStepWithoutDo(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		never := func(context.Context) error { t.Error("ran"); return nil }
		err := held.Step(t.Context(), distlock.Step{Commit: never, Undo: never})
		wantLine(t, err, `distlock: options "k": fn is nil`)
		wantIs(t, held.Release(t.Context()))
		// a released lease has ended, too
		wantIs(t, held.Step(t.Context(), distlock.Step{Do: never, Undo: never}), distlock.ErrLost)
	})
}

// The context of Do and Commit ends with the lease, even if the caller's context is
// unrelated, and the context of Undo does not end.
func TestStepContexts(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), ctxKey{}, "kept"), time.Hour)
		defer cancel()
		err := held.Step(ctx, distlock.Step{
			Do: func(ctx context.Context) error {
				wantIs(t, l.Do(ctx, "k", distlock.Opts{RetryCount: 1}, func(context.Context) error { return nil })) // re-enters
				s.Memory().Drop("k")
				<-ctx.Done()
				wantIs(t, context.Cause(ctx), distlock.ErrLost)
				return nil
			},
			Undo: func(ctx context.Context) error {
				cancel()
				if _, bounded := ctx.Deadline(); ctx.Err() != nil || bounded || ctx.Value(ctxKey{}) != "kept" {
					t.Errorf("in Undo: err %v, deadline %v, value %v", ctx.Err(), bounded, ctx.Value(ctxKey{}))
				}
				lease, ok := distlock.FromContext(ctx)
				if !ok || lease.Check() == nil || lease.Token() != held.Token() {
					t.Errorf("the lease in Undo is %v", lease)
				}
				// it must not wait for the gate that this call keeps shut
				wantIs(t, testkit.ErrorOf(l.Acquire(ctx, "k", distlock.Opts{})), distlock.ErrLost)
				return l.Do(ctx, "another", distlock.Opts{}, func(ctx context.Context) error { return ctx.Err() })
			},
		})
		wantIs(t, err, distlock.ErrLost)
		_ = held.Release(t.Context())

		held = testkit.MustAcquire(t, l, "k", distlock.Opts{})
		other := testkit.MustAcquire(t, l, "other", distlock.Opts{})
		var kept context.Context
		wantIs(t, held.Step(other.Context(), distlock.Step{Do: func(ctx context.Context) error {
			kept = ctx //nolint:fatcontext // checked afterwards
			if in, _ := distlock.FromContext(ctx); in != other {
				t.Error("the caller's own lease was hidden")
			}
			return nil
		}}))
		if kept.Err() == nil {
			t.Error("the context outlives the step")
		}
		// After another failure Undo still runs under the lock.
		wantIs(t, held.Step(held.Context(), distlock.Step{
			Do: func(context.Context) error { return testkit.ErrBroken },
			Undo: func(ctx context.Context) error {
				return l.Do(ctx, "k", distlock.Opts{RetryCount: 1}, func(context.Context) error { return nil })
			},
		}), testkit.ErrBroken)
		wantIs(t, other.Release(t.Context()))
		wantIs(t, held.Release(t.Context()))
	})
}

func TestStepUndoesAfterAPanic(t *testing.T) {
	boom := func(context.Context) error { panic("boom") }
	exit := func(context.Context) error { runtime.Goexit(); return nil }
	fine := func(context.Context) error { return nil }
	fails := func(context.Context) error { return errDo }
	for name, c := range map[string]struct {
		step distlock.Step // without Undo
		undo func(context.Context) error
		want any // recovered
	}{
		"in do":              {distlock.Step{Do: boom}, fails, "boom"},
		"in commit":          {distlock.Step{Do: fine, Commit: boom}, fine, "boom"},
		"goexit in do":       {distlock.Step{Do: exit}, fine, nil},
		"in undo, only once": {distlock.Step{Do: fails}, boom, "boom"},
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
			undone := 0
			var got any
			returned := false
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { got = recover() }()
				c.step.Undo = func(ctx context.Context) error { undone++; return c.undo(ctx) }
				_ = held.Step(t.Context(), c.step)
				returned = true
			}()
			<-done
			if got != c.want || undone != 1 || returned {
				t.Errorf("recovered %v, undone %d times, returned %v", got, undone, returned)
			}
			wantIs(t, held.Release(t.Context()))
		})
	}
}

// A result that was produced after the loss is returned with ErrLost and the function's error,
// also if the function ignores its context, and if only the store knows of the loss.
func TestResultAfterTheLossComesWithIt(t *testing.T) {
	for name, lose := range map[string]func(s *testkit.Store, ctx context.Context){
		"noticed":             func(s *testkit.Store, ctx context.Context) { s.Memory().Drop("f"); <-ctx.Done() },
		"the watchdog did":    func(s *testkit.Store, _ context.Context) { s.Memory().Drop("f"); time.Sleep(time.Minute) },
		"only the store does": func(s *testkit.Store, _ context.Context) { s.Steal(t, "f") },
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			f := func(ctx context.Context) (int, error) { lose(s, ctx); return 7, errMine }
			lost := func(got int, err error) {
				t.Helper()
				if wantIs(t, err, distlock.ErrLost); got != 7 || !errors.Is(err, errMine) {
					t.Errorf("the result is %d, %v", got, err)
				}
				s.Memory().Drop("f")
			}
			lost(distlock.Wrap(l, func(ctx context.Context, _ struct{}) (int, error) { return f(ctx) }, distlock.Opts{Value: "f"})(t.Context(), struct{}{}))
			lost(distlock.Call(t.Context(), l, "f", distlock.Opts{}, f))
		})
	}
}
