package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// crew is the processes that work on a task together. Each slice of each scenario has a
// new crew, so that peers do not share garbage, goroutines or connections, and a crew
// that hangs can be killed. But the JVMs of a peer work for a whole scenario.
type crew struct {
	task     task
	dir      string
	register *register // nil if each goroutine has its own key
	unmap    func()
	members  []*member
}

// member is one process.
type member struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	orders  *json.Encoder
	reports chan report // closed when the process has ended
	stderr  bytes.Buffer
}

// hire starts the processes and waits until all are ready.
func hire(ctx context.Context, t task) (_ *crew, err error) {
	c := &crew{task: t, unmap: func() {}}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", t.Peer, err)
			c.dismiss()
		}
	}()
	if !t.OwnKeys {
		if c.dir, err = os.MkdirTemp("", "peers"); err != nil {
			return nil, err
		}
		c.task.Register = filepath.Join(c.dir, "register")
		if c.register, c.unmap, err = openRegister(c.task.Register); err != nil {
			c.unmap = func() {}
			return nil, err
		}
	}
	for i := range t.Procs {
		c.task.Proc = i
		m, err := start(c.task)
		if err != nil {
			return nil, err
		}
		c.members = append(c.members, m)
	}
	for _, m := range c.members {
		if r, err := m.answer(ctx, warmUpLimit(t.Peer)); err != nil {
			return nil, err
		} else if r.Err != "" {
			return nil, errors.New(r.Err)
		}
	}
	return c, nil
}

func start(t task) (*member, error) {
	cmd, err := processOf(t.Peer)
	if err != nil {
		return nil, err
	}
	m := &member{cmd: cmd, reports: make(chan report, 1)}
	m.cmd.Stderr = &m.stderr
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(m.reports)
		for d := json.NewDecoder(out); ; {
			var r report
			if d.Decode(&r) != nil {
				break
			}
			m.reports <- r
		}
		_ = m.cmd.Wait()
	}()
	m.orders = json.NewEncoder(m.in)
	return m, m.orders.Encode(t)
}

var errSilent = errors.New("did not return when its time was up")

// warmUpLimit is how long a process may take until it is ready.
func warmUpLimit(peer string) time.Duration {
	if isJava(peer) {
		return time.Minute // it loads thousands of classes
	}
	return 15 * time.Second
}

// processOf returns the command of a process for a peer.
func processOf(peer string) (*exec.Cmd, error) {
	if isJava(peer) {
		return javaCommand()
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	return cmd, nil
}

// answer waits for the next report.
func (m *member) answer(ctx context.Context, limit time.Duration) (report, error) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case r, ok := <-m.reports:
		if !ok {
			return report{}, fmt.Errorf("a child has ended: %s", bytes.TrimSpace(m.stderr.Bytes()))
		}
		return r, nil
	case <-t.C:
		return report{}, errSilent
	case <-ctx.Done():
		return report{}, ctx.Err()
	}
}

// result is the result of an order.
type result struct {
	report                   // the sum over all processes
	shares   []int64         // of each process, when the first process had done its part
	elapsed  time.Duration   // until the last process had done its part
	held     time.Duration   // how long the lock was held since the first grant
	span     time.Duration   // from the first grant to the last return
	problems map[string]bool // error messages
}

// do gives all processes the same order, to begin at the same moment, and waits until
// they are done. Processes that are not done within o.Limit are stopped.
func (c *crew) do(ctx context.Context, o order) (result, error) {
	const lead = 10 * time.Millisecond
	if c.register != nil {
		c.register.begin()
	}
	o.Start = time.Now().Add(lead).UnixNano()
	for _, m := range c.members {
		if err := m.orders.Encode(o); err != nil {
			return result{}, err
		}
	}
	res := result{report: report{Finished: true}, problems: make(map[string]bool)}
	type answer struct {
		report
		err error
	}
	answers := make(chan answer, len(c.members))
	for _, m := range c.members {
		go func() {
			r, err := m.answer(ctx, lead+o.For+o.Limit+grace)
			answers <- answer{r, err}
		}()
	}
	for range c.members {
		a := <-answers
		if ctx.Err() != nil {
			return result{}, ctx.Err()
		}
		if c.register != nil && res.shares == nil {
			res.shares = c.register.shares(len(c.members))
		}
		res.add(a.report, a.err)
	}
	res.elapsed = time.Duration(res.End - o.Start)
	if res.End == 0 { // no process reported an end
		res.elapsed = time.Since(time.Unix(0, o.Start))
	}
	if c.register != nil {
		res.held, res.span = c.register.utilisation()
		locks := int64(0)
		for _, n := range c.register.shares(len(c.members)) {
			locks += n
		}
		res.Locks = max(res.Locks, locks) // counts processes that do not answer, too
	}
	return res, nil
}

func (r *result) add(o report, err error) {
	if err != nil {
		o.Err = err.Error()
	}
	if o.Err != "" {
		r.problems[o.Err] = true
		r.Finished = false
		return
	}
	if o.FirstError != "" {
		r.problems[o.FirstError] = true
	}
	r.Locks += o.Locks
	r.End = max(r.End, o.End)
	r.Finished = r.Finished && o.Finished
	r.Errors += o.Errors
	r.Waits.merge(o.Waits)
	r.Full.merge(o.Full)
	r.Overtaken.merge(o.Overtaken)
	r.HandOvers.merge(o.HandOvers)
}

// dismiss ends the processes, and kills those that do not exit.
func (c *crew) dismiss() {
	for _, m := range c.members {
		_ = m.in.Close()
	}
	for _, m := range c.members {
		t := time.AfterFunc(grace, func() { _ = m.cmd.Process.Kill() })
		for range m.reports { // until it has exited
		}
		t.Stop()
	}
	c.unmap()
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}
