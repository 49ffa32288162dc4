package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"
)

// childEnv has the task of a child process, which runs the same binary.
const childEnv = "DISTLOCK_PEERS_CHILD"

// child runs a child process: it reads orders from in, writes reports to out, and returns
// the exit code. It ends when its parent closes in.
func child(text string, in io.Reader, out io.Writer) int {
	reports := json.NewEncoder(out)
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return 1
	}
	do, end, err := prepare(t)
	if err != nil {
		_ = reports.Encode(report{Err: err.Error()})
		return 1
	}
	defer end()
	if reports.Encode(report{}) != nil {
		return 1
	}
	for orders := bufio.NewReader(in); ; {
		o, err := readOrder(orders)
		if err != nil {
			return 0
		}
		before := cpuTime()
		r := do(o)
		r.CPU = cpuTime() - before
		if reports.Encode(r) != nil {
			return 1
		}
	}
}

// prepare warms up, and returns functions that execute an order and end the task.
func prepare(t task) (do func(order) report, end func(), err error) {
	if probe, ok := probes[t.Peer]; ok {
		return probe(t)
	}
	p, err := peers[t.Peer](t.URL)
	if err != nil {
		return nil, nil, err
	}
	w := newWorker(t, p)
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if err := w.warmUp(ctx); err != nil {
		return nil, nil, fmt.Errorf("warming up: %w", err)
	}
	stop, err := profile(t)
	if err != nil {
		return nil, nil, err
	}
	return w.do, func() { stop(); _ = p.Close() }, nil
}

// profile starts a CPU profile of this process if the task asks for one, and returns a
// function that ends it.
func profile(t task) (stop func(), err error) {
	if t.Profile == "" {
		return func() {}, nil
	}
	name := fmt.Sprintf("%s.%d.pprof", strings.ReplaceAll(t.Key, ":", "."), t.Proc)
	f, err := os.Create(filepath.Join(t.Profile, name))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() { pprof.StopCPUProfile(); _ = f.Close() }, nil
}
