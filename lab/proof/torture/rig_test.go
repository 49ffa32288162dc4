package torture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

// setup describes what is tested.
type setup struct {
	backend      string
	start        func(tb testing.TB, servers int) store
	servers      int
	processes    int
	workers      int // per process
	keys         int
	simulated    config        // what the processes of a simulation have in common
	sessions     bool          // the store ends the locks of a process that has ended, all at once
	pace         time.Duration // longest pause between the beginnings of two faults
	afterRestart time.Duration // time in which the next fault of a server may not begin
}

func newSetup(backend string) (setup, error) {
	s := setup{backend: backend, servers: 1, processes: 3, workers: 4, keys: 4, pace: time.Second}
	switch backend {
	case "redislock":
		s.start = startRedis
	case "zklock":
		s.start, s.sessions = startZooKeeper, true
		// A JVM starts slowly, and a session outlives its process.
		s.pace, s.afterRestart = 2*time.Second, 3*time.Second
	case "sqllock":
		s.start = startPostgres
	case "sqllock-mariadb":
		s.start = startMariaDB
	case "etcdlock":
		s.start, s.sessions = startEtcd, true
	case "etcdlock-cluster":
		s.start, s.sessions, s.servers = startEtcd, true, 3
	case "natslock":
		s.start, s.servers = startNATS, 3
	case "redlock":
		// Two nodes must not restart within the longest lease and its clock drift.
		s.start, s.servers, s.afterRestart = startRedis, 3, longestLease+longestLease/10
	case simulator:
		s.pace = 3 * time.Second
	default:
		return s, fmt.Errorf("there is no backend %q", backend)
	}
	return s, nil
}

// rig is the servers, the processes and the register.
type rig struct {
	tb        testing.TB
	setup     setup
	seed      uint64
	dir       string // for the history
	store     store
	world     *world // of a simulation
	register  *testkit.NetRegister
	processes []*process // the current ones
	all       []*process

	losses   []window
	dents    []window
	injected map[string]int
}

func newRig(tb testing.TB, s setup, seed uint64, dir string) *rig {
	tb.Helper()
	r := &rig{
		tb: tb, setup: s, seed: seed, dir: dir,
		processes: make([]*process, s.processes), injected: make(map[string]int),
	}
	r.store = s.start(tb, s.servers)
	r.register = testkit.NewNetRegister(tb)
	for i := range r.processes {
		r.spawn(i)
	}
	return r
}

// process is a child process with workers.
type process struct {
	*testkit.Process
	config config

	killed   bool
	killedAt int64
}

// kill kills the process and waits until it has exited.
func (p *process) kill() {
	if !p.killed && p.Runs() {
		p.killed, p.killedAt = true, now()
	}
	p.Kill()
}

// spawn starts a process, or a successor of a process that has ended.
func (r *rig) spawn(i int) {
	life := 0
	if p := r.processes[i]; p != nil {
		life = p.config.Life + 1
	}
	c := config{
		Backend: r.setup.backend, Addrs: r.store.addrs(), Register: r.register.Addr(),
		Proc: fmt.Sprintf("%d.%d", i, life), Number: i, Life: life,
		Seed: r.seed, Workers: r.setup.workers, Keys: r.setup.keys, Shares: r.setup.backend != "redlock",
	}
	c.Journal = filepath.Join(r.dir, "process-"+c.Proc+".jsonl")
	r.processes[i] = &process{Process: testkit.StartChild(r.tb, roleKid, c), config: c}
	r.all = append(r.all, r.processes[i])
}

// beginLoss and endLoss mark the period in which a server loses its data. With one of its servers
// a quorum loses only what just a majority had.
func (r *rig) beginLoss() { r.losses = append(r.losses, window{From: now(), To: never}) }

func (r *rig) endLoss() {
	r.losses[len(r.losses)-1].To = now()
	if r.setup.backend == "redlock" {
		r.dents, r.losses = append(r.dents, r.losses...), nil
	}
}

// run injects the faults of the plan, each at its time, and returns when the last one
// is over. A fault that takes longer than planned delays all later ones: the time
// between two restarts of servers must be as long as the plan says.
func (r *rig) run(p plan, length time.Duration) {
	type due struct {
		planned
		do action
	}
	var all []due
	for _, f := range p {
		r.injected[f.fault.name]++
		all = append(all, due{f, f.fault.begin})
		if f.fault.end != nil {
			f.at += f.length
			all = append(all, due{f, f.fault.end})
		}
	}
	// A fault ends before another begins at the same time, because it was planned
	// first.
	slices.SortStableFunc(all, func(a, b due) int { return cmp.Compare(a.at, b.at) })
	start := time.Now()
	for _, a := range all {
		time.Sleep(time.Until(start.Add(a.at)))
		a.do(r, a.target, a.length)
		if late := time.Since(start.Add(a.at)); late > 0 {
			start = start.Add(late)
		}
	}
	time.Sleep(time.Until(start.Add(length)))
}

// heal lets every worker take every key without faults. It returns when the processes
// have exited, or after a time limit.
func (r *rig) heal() {
	for _, p := range r.processes {
		p.Tell("heal")
	}
	limit, cancel := context.WithTimeout(context.Background(), healBound+30*time.Second)
	defer cancel()
	for _, p := range r.processes {
		select {
		case <-p.Exited():
		case <-limit.Done():
			if p.Runs() {
				r.tb.Logf("process %s does not end", p.config.Proc)
				p.Dump()
			}
		}
	}
}

// waitEmpty waits until the store is empty, or for longer than any data may live, and
// returns what is left.
func (r *rig) waitEmpty() []string {
	const lasts = 75 * time.Second // a queue expires after a minute
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		left, err := r.store.left(r.setup.keys)
		if err == nil && len(left) == 0 {
			return nil
		}
		if time.Since(start) > lasts {
			if err != nil {
				left = append(left, err.Error())
			}
			return left
		}
	}
}

// history reads the journals after all processes have exited.
func (r *rig) history() (*history, error) {
	r.register.Close()
	log := make(map[string]testkit.Use)
	for _, u := range r.register.Log() {
		log[u.ID] = u
	}
	h := &history{
		Keys: r.setup.keys, Losses: r.losses, Dents: r.dents, Pauses: make(map[string][]window), Ends: make(map[string]farewell),
		Deaths: make(map[string]int64),
	}
	for _, p := range r.all {
		proc := p.config.Proc
		if p.killed {
			h.Deaths[proc] = p.killedAt
		} else {
			h.Ends[proc] = farewell{}
			for w := range r.setup.workers {
				h.Workers = append(h.Workers, fmt.Sprintf("%s/%d", proc, w))
			}
		}
		entries, err := readJournal(p.config.Journal)
		if err != nil && (!p.killed || !errors.Is(err, os.ErrNotExist)) { // it died too early to write one
			return nil, err
		}
		if err := h.add(proc, entries, log); err != nil {
			return nil, err
		}
		if code := p.Cmd.ProcessState.ExitCode(); !p.killed && (code != 0 || p.Stderr() != "") {
			h.Ends[proc] = farewell{Said: true, Err: fmt.Sprintf("exit status %d; %s", code, p.Stderr())}
		}
	}
	if !r.setup.sessions {
		clear(h.Deaths) // the store keeps the keys of dead processes
	}
	h.findOwners()
	return h, nil
}
