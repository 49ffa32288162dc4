package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"
)

// childEnv is set in child processes, which run the same binary.
const childEnv = "DISTLOCK_PEERS_CHILD"

// grace is the time limit for stopping.
const grace = 3 * time.Second

// child runs a child process: it reads its task and then orders from in, writes reports
// to out, and returns the exit code. It ends when its parent closes in.
func child(in io.Reader, out io.Writer) int {
	reports := json.NewEncoder(out)
	orders := json.NewDecoder(bufio.NewReader(in))
	var t task
	if err := orders.Decode(&t); err != nil {
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

	next := make(chan order)
	go func() {
		defer close(next)
		for {
			var o order
			if orders.Decode(&o) != nil {
				return
			}
			next <- o
		}
	}()
	for o := range next {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan report, 1)
		go func() { done <- do(ctx, o) }()
		r, err := await(done, next, cancel)
		cancel()
		if err != nil {
			r = report{Err: err.Error()}
		}
		if reports.Encode(r) != nil || err != nil {
			return 1
		}
	}
	return 0
}

// await waits for the report of an order, and a little longer than the parent does. The
// parent closes the orders when it stops waiting.
func await(done <-chan report, next <-chan order, cancel func()) (report, error) {
	select {
	case r := <-done:
		return r, nil
	case <-next:
	}
	cancel()
	select {
	case r := <-done:
		return r, nil
	case <-time.After(grace):
		return report{}, errHangs
	}
}

var errHangs = errors.New("does not return when its context ends")

// prepare warms up, and returns functions that execute an order and end the task.
func prepare(t task) (do func(context.Context, order) report, end func(), err error) {
	if probe, ok := probes[t.Peer]; ok {
		return probe(t)
	}
	var r *register
	unmap := func() {}
	if t.Register != "" {
		if r, unmap, err = openRegister(t.Register); err != nil {
			return nil, nil, err
		}
	}
	p, err := newPeer(t.Peer, t.URL)
	if err != nil {
		return nil, nil, err
	}
	w := newWorker(t, p, r)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := w.warmUp(ctx); err != nil {
		return nil, nil, fmt.Errorf("warming up: %w", err)
	}
	stop, err := profile(t)
	if err != nil {
		return nil, nil, err
	}
	return w.do, func() { stop(); _ = p.Close(); unmap() }, nil
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
