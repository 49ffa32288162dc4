package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
)

// childEnv has the task of a child process, which runs the same binary.
const childEnv = "DISTLOCK_PEERS_CHILD"

// child runs a child process: it reads orders from in, and writes to out that it is ready,
// and what it did. It ends when its parent closes in.
func child(text string, in io.Reader, out io.Writer) {
	answers := json.NewEncoder(out) // if the parent has ended, there are no orders either
	do, end, err := prepare(text)
	if err != nil {
		_ = answers.Encode(turn{Problems: []string{err.Error()}})
		return
	}
	defer end()
	_ = answers.Encode(turn{})
	var o order
	for orders := json.NewDecoder(in); orders.Decode(&o) == nil; {
		before := cpuTime()
		t := do(o)
		t.Client = cpuTime() - before
		_ = answers.Encode(t)
	}
}

// prepare returns what does an order, by a worker that is warm, and a function that ends the
// task.
func prepare(text string) (do func(order) turn, end func(), err error) {
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return nil, nil, err
	}
	if t.Proc == 0 && t.First > 0 {
		t.Goroutines = t.First
	}
	measure, isBulk := bulk[t.Peer]
	if isBulk {
		t.Peer = ours
	}
	lock, err := peers[t.Peer](t)
	if err != nil {
		return nil, nil, err
	}
	if isBulk {
		return func(order) turn {
			values, err := measure(t, lock)
			sum := turn{Finished: values != nil, Bulk: values}
			if err != nil {
				sum.Problems = []string{err.Error()}
			}
			return sum
		}, func() {}, nil
	}
	w := newWorker(t, lock)
	if err := w.warmUp(); err != nil {
		return nil, nil, err
	}
	if t.Profile == "" {
		return w.do, func() {}, nil
	}
	f, err := os.Create(filepath.Join(t.Profile, fmt.Sprintf("%s.%d.pprof", strings.ReplaceAll(t.Key, ":", "."), t.Proc)))
	if err != nil {
		return nil, nil, err
	}
	return w.do, func() { pprof.StopCPUProfile(); _ = f.Close() }, pprof.StartCPUProfile(f)
}
