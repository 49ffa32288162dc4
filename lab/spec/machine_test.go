package spec

import (
	"context"
	"testing"
	"testing/synctest"
)

// machine is a bubble with a clock of its own. Time stands still there except in do.
type machine struct {
	ctx  context.Context // of the bubble
	todo chan func()
	done chan struct{}
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{todo: make(chan func()), done: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		synctest.Test(t, func(t *testing.T) {
			m.ctx = t.Context()
			for f := range m.todo { // a channel from outside: while the bubble waits for it, its clock stands still
				f()
				synctest.Wait()
				m.done <- struct{}{}
			}
		})
	}()
	t.Cleanup(func() {
		close(m.todo)
		<-ended
	})
	return m
}

// do runs f in the bubble, and returns when nothing goes on there.
func (m *machine) do(f func()) {
	m.todo <- f
	<-m.done
}
