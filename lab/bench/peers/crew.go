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
	First      int           // goroutines of the first process; 0: as many
	Hold       time.Duration // how long a lock is held
	Proc       int           // number of this process, from 0
	Profile    string        // directory for CPU profiles; "": none
}

// order is the next work of a process. The answer is a turn. Both are JSON.
type order struct {
	Start  int64         // in nanoseconds since 1970, the same for all processes
	Loops  int           // locks for each goroutine; 0: as many as the time allows
	Length time.Duration // how long, if Loops is 0
	Rate   float64       // locks a second that begin, whether or not others have ended; 0: each goroutine has one
	Limit  time.Duration // time limit
}

// crew is the processes that work on a task together. Each turn has a new crew, so that peers
// do not share garbage, goroutines or connections, and a crew that hangs can be killed.
type crew []*member

// member is one process.
type member struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
	stderr  bytes.Buffer
}

// The time limits of a process: to become ready, and to stop. A JVM loads thousands of
// classes first.
const (
	readyLimit = time.Minute
	grace      = 3 * time.Second
)

// hire starts the processes and waits until all are ready. They are killed when ctx ends.
func hire(ctx context.Context, t task, procs int) (c crew, err error) {
	defer func() {
		if err != nil {
			c.dismiss()
		}
	}()
	for t.Proc = range procs {
		m, err := start(ctx, t)
		if err != nil {
			return c, err
		}
		c = append(c, m)
	}
	for _, m := range c {
		if ready, err := m.answer(readyLimit); err != nil {
			return c, err
		} else if len(ready.Problems) > 0 {
			return c, errors.New(ready.Problems[0])
		}
	}
	return c, nil
}

func start(ctx context.Context, t task) (*member, error) {
	words, err := commandOf(t)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	m := &member{cmd: exec.CommandContext(ctx, words[0], words[1:]...)} //nolint:gosec // our own program
	m.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	m.cmd.Stderr = &m.stderr
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	m.answers = json.NewDecoder(out)
	return m, m.cmd.Start()
}

// commandOf returns the command of a process.
func commandOf(t task) ([]string, error) {
	if t.Peer == redisson {
		return javaCommand(t)
	}
	exe, err := os.Executable()
	return []string{exe}, err
}

// answer waits for the next answer of the process, and kills it if there is none.
func (m *member) answer(limit time.Duration) (t turn, err error) {
	late := time.AfterFunc(limit, m.kill)
	err = m.answers.Decode(&t)
	switch inTime := late.Stop(); {
	case err == nil:
		return t, nil
	case !inTime:
		return t, errors.New("did not return when its time was up")
	}
	m.kill()
	_ = m.cmd.Wait() // its standard error is complete
	return t, fmt.Errorf("a process has ended: %s", bytes.TrimSpace(m.stderr.Bytes()))
}

func (m *member) kill() { _ = m.cmd.Process.Kill() } // it may have ended

// do gives all processes the same order, to begin at the same moment, and adds up their
// answers.
func (c crew) do(o order) (turn, error) {
	const lead = 10 * time.Millisecond
	o.Start = time.Now().Add(lead).UnixNano()
	for _, m := range c {
		if err := json.NewEncoder(m.in).Encode(o); err != nil {
			return turn{}, err
		}
	}
	sum := turn{Finished: true}
	for i, m := range c {
		t, err := m.answer(lead + o.Limit + grace)
		if err != nil {
			return sum, err
		}
		for j := range t.Moves {
			t.Moves[j].proc = i
		}
		sum.beside(t)
	}
	passed, err := handOvers(sum.Moves)
	sum.Passed = append(sum.Passed, passed...)
	return sum, err
}

// dismiss ends the processes, and kills those that do not exit.
func (c crew) dismiss() {
	for _, m := range c {
		_ = m.in.Close()
	}
	for _, m := range c {
		timer := time.AfterFunc(grace, m.kill)
		_ = m.cmd.Wait()
		timer.Stop()
	}
}
