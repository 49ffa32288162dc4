package torture

import (
	"slices"
	"time"
)

// fault is a kind of fault.
type fault struct {
	name      string
	backends  []string // where it makes sense; empty: everywhere but in the simulator
	ofProcess bool     // of a process, otherwise of a server
	restarts  bool     // a server is restarted
	lasts     span

	begin action
	end   action // may be nil
}

// action does something to a process or server of a rig.
type action func(r *rig, target int, length time.Duration)

func (f *fault) fits(backend string) bool {
	return len(f.backends) == 0 && backend != simulator || slices.Contains(f.backends, backend)
}

// span is how long a fault may last.
type span struct{ shortest, longest time.Duration }

func millis(shortest, longest int) span {
	return span{time.Duration(shortest) * time.Millisecond, time.Duration(longest) * time.Millisecond}
}

var (
	onRedis    = []string{"redislock", "redlock"}
	onOneRedis = []string{"redislock"}
	onSQL      = []string{"sqllock", "sqllock-mariadb"}
	onEtcd     = []string{"etcdlock", "etcdlock-cluster"}
	onCluster  = []string{"etcdlock-cluster"}
	simulated  = []string{simulator}
)

// faults are all kinds. The plan of a seed depends on their order.
var faults = []fault{
	{name: "stop process", ofProcess: true, lasts: millis(200, 3500), begin: of((*process).Stop), end: of((*process).Cont)},
	{
		name: "kill process", ofProcess: true, lasts: millis(50, 500), begin: of((*process).kill),
		end: func(r *rig, target int, _ time.Duration) { r.spawn(target) },
	},
	{name: "cut network", ofProcess: true, lasts: millis(100, 2500), begin: tell("hang"), end: tell("mend")},
	{name: "deafen network", ofProcess: true, lasts: millis(100, 1500), begin: tell("deafen"), end: tell("kill")},
	{name: "refuse connections", ofProcess: true, lasts: millis(50, 800), begin: tell("refuse"), end: tell("mend")},
	{name: "cancel waiters", ofProcess: true, begin: tell("cancel")},
	{
		name: "stop server", lasts: millis(50, 2000),
		begin: func(r *rig, target int, _ time.Duration) { r.store.server(target).Stop(r.tb) },
		end:   func(r *rig, target int, _ time.Duration) { r.store.server(target).Cont(r.tb) },
	},
	{name: "restart server", restarts: true, lasts: millis(10, 300), begin: killServer, end: restartServer},
	{
		name: "empty server", backends: onRedis, restarts: true, lasts: millis(10, 300),
		begin: func(r *rig, target int, _ time.Duration) { r.beginLoss(); r.store.server(target).Kill() },
		end: func(r *rig, target int, length time.Duration) {
			r.store.(*redisStore).empty(r.tb, target)
			restartServer(r, target, length)
			r.endLoss()
		},
	},
	{name: "flush scripts", backends: onRedis, begin: command("SCRIPT", "FLUSH")},
	{name: "kill subscribers", backends: onOneRedis, begin: command("CLIENT", "KILL", "TYPE", "pubsub")},
	{name: "kill clients", backends: onRedis, begin: command("CLIENT", "KILL", "TYPE", "normal")},
	{
		name: "pause clients", backends: onRedis, lasts: millis(50, 1200),
		begin: func(r *rig, target int, length time.Duration) {
			command("CLIENT", "PAUSE", length.Milliseconds(), "ALL")(r, target, length)
		},
	},
	{name: "hold requests", backends: slices.Concat(onSQL, onEtcd, []string{"natslock"}), ofProcess: true, lasts: millis(50, 3000), begin: tell("hold"), end: tell("send")},
	{name: "terminate sessions", backends: onSQL, begin: on(func(r *rig, s *sqlStore) { s.others(r.tb, s.terminate) })},
	{name: "cancel statements", backends: onSQL, begin: on(func(r *rig, s *sqlStore) { s.others(r.tb, s.cancel) })},
	{
		name: "lock tables", backends: onSQL, lasts: millis(50, 1200),
		begin: on(func(r *rig, s *sqlStore) { s.lock(r.tb) }), end: on(func(_ *rig, s *sqlStore) { s.unlock() }),
	},
	{
		name: "shut down server", backends: onSQL, restarts: true, lasts: millis(10, 300),
		begin: on(func(r *rig, s *sqlStore) { s.database.Shutdown(r.tb) }), end: restartServer,
	},
	{name: "compact history", backends: onEtcd, begin: on(func(r *rig, s *etcdStore) { s.compact(r.tb) })},
	{
		name: "raise NOSPACE", backends: onEtcd, lasts: millis(50, 1200),
		begin: on(func(r *rig, s *etcdStore) { s.alarm(r.tb, true) }),
		end:   on(func(r *rig, s *etcdStore) { s.alarm(r.tb, false) }),
	},
	{name: "move leader", backends: onCluster, begin: on(func(r *rig, s *etcdStore) { s.MoveLeader(r.tb) })},
	{
		name: "restart all servers", backends: onCluster, restarts: true, lasts: millis(10, 300),
		begin: on(func(_ *rig, s *etcdStore) { s.Kill() }), end: on(func(r *rig, s *etcdStore) { s.Restart(r.tb) }),
	},
	{name: "crash", backends: simulated, ofProcess: true, lasts: millis(50, 2000), begin: in((*world).crash), end: in((*world).spawn)},
	{name: "pause", backends: simulated, ofProcess: true, lasts: millis(200, 5000), begin: in((*world).pause), end: in((*world).resume)},
	{name: "partition", backends: simulated, ofProcess: true, lasts: millis(100, 4000), begin: wires((*wire).part), end: wires((*wire).mend)},
	{name: "all requests late", backends: simulated, ofProcess: true, lasts: millis(100, 4000), begin: wires((*wire).delay), end: wires((*wire).mend)},
	{name: "all replies late", backends: simulated, ofProcess: true, lasts: millis(100, 4000), begin: wires((*wire).deafen), end: wires((*wire).mend)},
	{name: "renewed late and lost", backends: simulated, ofProcess: true, lasts: millis(3000, 6000), begin: wires((*wire).lurk), end: wires((*wire).mend)},
	{name: "connections lost", backends: simulated, ofProcess: true, begin: wires((*wire).cut)},
	{name: "storm", backends: simulated, ofProcess: true, lasts: millis(50, 500), begin: wires((*wire).storm), end: wires((*wire).stormOver)},
	{name: "waiters give up", backends: simulated, ofProcess: true, begin: in(func(w *world, i int) { w.processes[i].cancelWaiters() })},
	{name: "failover", backends: simulated, lasts: millis(10, 2000), begin: in((*world).replicate), end: in((*world).failOver)},
	{name: "fast clock", backends: simulated, lasts: millis(1000, 8000), begin: in(rate(1.0099)), end: in(rate(1))},
	{name: "slow clock", backends: simulated, lasts: millis(1000, 8000), begin: in(rate(0.9901)), end: in(rate(1))},
	{name: "clock set back", backends: simulated, begin: in(func(w *world, _ int) { w.clock.set(-5 * time.Second) })},
	{name: "scripts flushed", backends: simulated, begin: in(func(w *world, _ int) { w.flushScripts() })},
}

// of does something to a process.
func of(do func(*process)) action {
	return func(r *rig, target int, _ time.Duration) { do(r.processes[target]) }
}

// tell sends one of the commands to a process.
func tell(command string) action { return of(func(p *process) { p.Tell(command) }) }

// on does something to the servers of a kind.
func on[S store](do func(*rig, S)) action {
	return func(r *rig, _ int, _ time.Duration) { do(r, r.store.(S)) }
}

// command sends a command to a Redis server.
func command(args ...any) action {
	return func(r *rig, target int, _ time.Duration) { r.store.(*redisStore).command(target, args...) }
}

// in does something to a simulated process or to the simulated server.
func in(do func(w *world, target int)) action {
	return func(r *rig, target int, _ time.Duration) { do(r.world, target) }
}

// wires does something to the network of a simulated process.
func wires(do func(*wire)) action {
	return in(func(w *world, target int) { do(w.processes[target].wire) })
}

func killServer(r *rig, target int, _ time.Duration) { r.store.server(target).Kill() }

func restartServer(r *rig, target int, _ time.Duration) { r.store.server(target).Restart(r.tb) }
