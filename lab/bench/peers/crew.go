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
	"slices"
	"time"
)

// task is the work of a process. The parent passes it as JSON in the environment.
type task struct {
	Peer       string // or the name of a probe
	URL        string // of the store
	Key        string // the key, or the prefix of the goroutines' own keys
	OwnKeys    bool   // each goroutine has its own key
	Turns      bool   // record when the lock was taken and given back
	Goroutines int
	Proc       int    // number of this process, from 0
	Profile    string // directory for CPU profiles; "": none
}

// order is the next work of a process. The parent writes its fields as a line of numbers.
type order struct {
	Start  int64         // in nanoseconds since 1970, the same for all processes
	Loops  int           // locks for each goroutine; 0: as many as the time allows
	Length time.Duration // how long, if Loops is 0
	Limit  time.Duration // time limit
}

func (o order) write(w io.Writer) error {
	_, err := fmt.Fprintln(w, o.Start, o.Loops, int64(o.Length), int64(o.Limit))
	return err
}

func readOrder(r io.Reader) (o order, err error) {
	_, err = fmt.Fscanln(r, &o.Start, &o.Loops, &o.Length, &o.Limit)
	return o, err
}

// report is the answer of a process, as a line of JSON: first that it is ready, then one for
// each order.
type report struct {
	Err      string        // an error of the peer
	Locks    int64         // acquired and released
	End      int64         // of the last goroutine, in nanoseconds since 1970
	Finished bool          // all goroutines did what the order says
	CPU      time.Duration // that the process used
	Full     spread        // of the waits that began and ended while all goroutines were waiting
	Samples  []time.Duration
	Moves    []move // with task.Turns
}

// move is the moment at which a process took the lock, or was about to give it back.
type move struct {
	At    int64 // nanoseconds since 1970
	Taken bool
	proc  int
}

// crew is the processes that work on a task together. Each turn has a new crew, so that peers
// do not share garbage, goroutines or connections, and a crew that hangs can be killed.
type crew struct{ members []*member }

// member is one process.
type member struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	reports chan report // closed when the process has ended
	stderr  bytes.Buffer
}

// The time limits of a process: to become ready, and to stop. A JVM loads thousands of
// classes first.
const (
	readyLimit = time.Minute
	grace      = 3 * time.Second
)

// hire starts the processes and waits until all are ready.
func hire(ctx context.Context, t task, procs int) (_ *crew, err error) {
	c := new(crew)
	defer func() {
		if err != nil {
			c.dismiss()
		}
	}()
	for t.Proc = range procs {
		m, err := start(t)
		if err != nil {
			return nil, err
		}
		c.members = append(c.members, m)
	}
	for _, m := range c.members {
		if r, err := m.answer(ctx, readyLimit); err != nil {
			return nil, err
		} else if r.Err != "" {
			return nil, errors.New(r.Err)
		}
	}
	return c, nil
}

func start(t task) (*member, error) {
	cmd, err := processOf(t)
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
	return m, nil
}

// processOf returns the command of a process.
func processOf(t task) (*exec.Cmd, error) {
	if t.Peer == redisson {
		return javaCommand(t)
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	return cmd, nil
}

var errSilent = errors.New("did not return when its time was up")

// answer waits for the next report.
func (m *member) answer(ctx context.Context, limit time.Duration) (report, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r, ok := <-m.reports:
		if !ok {
			return r, fmt.Errorf("a process has ended: %s", bytes.TrimSpace(m.stderr.Bytes()))
		}
		return r, nil
	case <-timer.C:
		return report{}, errSilent
	case <-ctx.Done():
		return report{}, context.Cause(ctx)
	}
}

// do gives all processes the same order, to begin at the same moment, and adds up their
// reports.
func (c *crew) do(ctx context.Context, o order) (turn, error) {
	const lead = 10 * time.Millisecond
	o.Start = time.Now().Add(lead).UnixNano()
	for _, m := range c.members {
		if err := o.write(m.in); err != nil {
			return turn{}, err
		}
	}
	sum := turn{finished: true}
	var moves []move
	for i, m := range c.members {
		r, err := m.answer(ctx, lead+o.Limit+grace)
		if err != nil {
			return sum, err
		}
		sum.addReport(o, r)
		for _, one := range r.Moves {
			one.proc = i
			moves = append(moves, one)
		}
	}
	handOvers, err := handOvers(moves)
	sum.samples = append(sum.samples, handOvers...)
	return sum, err
}

var errTwoHolders = errors.New("two callers had the lock at once")

// handOvers returns how long it took from the start of an unlock in one process to the lock
// in another. All processes use the machine's clock.
func handOvers(moves []move) (times []time.Duration, err error) {
	slices.SortStableFunc(moves, func(a, b move) int { return int(a.At - b.At) })
	for i, m := range moves[min(1, len(moves)):] {
		last := moves[i]
		if m.Taken && last.Taken {
			return times, errTwoHolders
		}
		if m.Taken && m.proc != last.proc {
			times = append(times, time.Duration(m.At-last.At))
		}
	}
	return times, nil
}

// dismiss ends the processes, and kills those that do not exit.
func (c *crew) dismiss() {
	for _, m := range c.members {
		_ = m.in.Close()
	}
	for _, m := range c.members {
		timer := time.AfterFunc(grace, func() { _ = m.cmd.Process.Kill() })
		for range m.reports { // until it has exited
		}
		timer.Stop()
	}
}
