package proof_test

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The roles of child processes.
const (
	roleHolder = "hold"
	roleCrowd  = "crowd"
)

// order tells a child process what to do.
type order struct {
	Store    address
	Lease    time.Duration
	Register string // its address
	Waiters  int
}

// task is the state of a child process.
type task struct {
	*testkit.Child
	*distlock.Locker
	order

	register *testkit.RegisterConn
	awake    chan struct{} // closed when a process that was stopped has checked its lease
}

// beChild plays a role, if this process is a child, and exits.
func beChild() {
	testkit.BeChild(map[string]func(*testkit.Child) error{
		roleHolder: play(holdKey), roleCrowd: play(beCrowd),
	})
}

// play opens what the order names, does the work, and closes it.
func play(work func(*task) error) func(*testkit.Child) error {
	return func(c *testkit.Child) (err error) {
		t := &task{Child: c, awake: make(chan struct{})}
		if err := c.Decode(&t.order); err != nil {
			return err
		}
		if t.Register != "" {
			t.register = testkit.DialRegister(t.Register)
		}
		var end func() error // one of a crowd waits in the store
		if t.Locker, end, err = t.Store.locker(distlock.Config{MaxWaiters: max(t.Waiters-1, 0)}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
		return work(t)
	}
}
