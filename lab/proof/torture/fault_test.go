package torture

import (
	"slices"
	"time"
)

// fault is a kind of fault.
type fault struct {
	name              string
	backends          []string // where it makes sense; empty: everywhere
	ofProcess         bool     // of a process, otherwise of a server
	restarts          bool     // a server is restarted
	shortest, longest time.Duration

	begin func(r *rig, target int, length time.Duration)
	end   func(r *rig, target int) // may be nil
}

func (f *fault) fits(backend string) bool {
	return len(f.backends) == 0 || slices.Contains(f.backends, backend)
}

var (
	onRedis    = []string{"redislock", "redlock"}
	onOneRedis = []string{"redislock"}
	onSQL      = []string{"sqllock", "sqllock-mariadb"}
	onEtcd     = []string{"etcdlock", "etcdlock-cluster"}
	onCluster  = []string{"etcdlock-cluster"}
)

// faults are all kinds. The plan of a seed depends on their order.
var faults = []fault{
	{
		name: "stop process", ofProcess: true, shortest: 200 * time.Millisecond, longest: 3500 * time.Millisecond,
		begin: func(r *rig, target int, _ time.Duration) { r.processes[target].Stop() },
		end:   func(r *rig, target int) { r.processes[target].Cont() },
	}, {
		name: "kill process", ofProcess: true, shortest: 50 * time.Millisecond, longest: 500 * time.Millisecond,
		begin: func(r *rig, target int, _ time.Duration) { r.processes[target].kill() },
		end:   func(r *rig, target int) { r.spawn(target) },
	}, {
		name: "cut network", ofProcess: true, shortest: 100 * time.Millisecond, longest: 2500 * time.Millisecond,
		begin: func(r *rig, target int, _ time.Duration) { r.processes[target].Tell(cmdHang) },
		end:   func(r *rig, target int) { r.processes[target].Tell(cmdMend) },
	}, {
		name: "deafen network", ofProcess: true, shortest: 100 * time.Millisecond, longest: 1500 * time.Millisecond,
		begin: func(r *rig, target int, _ time.Duration) { r.processes[target].Tell(cmdDeafen) },
		end:   func(r *rig, target int) { r.processes[target].Tell(cmdKill) },
	}, {
		name: "refuse connections", ofProcess: true, shortest: 50 * time.Millisecond, longest: 800 * time.Millisecond,
		begin: func(r *rig, target int, _ time.Duration) { r.processes[target].Tell(cmdRefuse) },
		end:   func(r *rig, target int) { r.processes[target].Tell(cmdMend) },
	}, {
		name: "cancel waiters", ofProcess: true,
		begin: func(r *rig, target int, _ time.Duration) { r.processes[target].Tell(cmdCancel) },
	}, {
		name: "stop server", shortest: 50 * time.Millisecond, longest: 2 * time.Second,
		begin: func(r *rig, target int, _ time.Duration) { r.store.server(target).Stop(r.tb) },
		end:   func(r *rig, target int) { r.store.server(target).Cont(r.tb) },
	}, {
		name: "restart server", restarts: true, shortest: 10 * time.Millisecond, longest: 300 * time.Millisecond,
		begin: func(r *rig, target int, _ time.Duration) { r.store.server(target).Kill() },
		end:   func(r *rig, target int) { r.store.server(target).Restart(r.tb) },
	}, {
		name: "empty server", backends: onRedis, restarts: true, shortest: 10 * time.Millisecond, longest: 300 * time.Millisecond,
		begin: func(r *rig, target int, _ time.Duration) { r.beginLoss(); r.store.server(target).Kill() },
		end: func(r *rig, target int) {
			r.store.(*redisStore).empty(r.tb, target)
			r.store.server(target).Restart(r.tb)
			r.endLoss()
		},
	}, {
		name: "flush scripts", backends: onRedis,
		begin: func(r *rig, target int, _ time.Duration) { r.store.(*redisStore).command(target, "SCRIPT", "FLUSH") },
	}, {
		name: "kill subscribers", backends: onOneRedis,
		begin: func(r *rig, target int, _ time.Duration) {
			r.store.(*redisStore).command(target, "CLIENT", "KILL", "TYPE", "pubsub")
		},
	}, {
		name: "kill clients", backends: onRedis,
		begin: func(r *rig, target int, _ time.Duration) {
			r.store.(*redisStore).command(target, "CLIENT", "KILL", "TYPE", "normal")
		},
	}, {
		name: "pause clients", backends: onRedis, shortest: 50 * time.Millisecond, longest: 1200 * time.Millisecond,
		begin: func(r *rig, target int, length time.Duration) {
			r.store.(*redisStore).command(target, "CLIENT", "PAUSE", length.Milliseconds(), "ALL")
		},
	}, {
		name: "hold requests", backends: slices.Concat(onSQL, onEtcd), ofProcess: true, shortest: 50 * time.Millisecond, longest: 3 * time.Second,
		begin: func(r *rig, target int, _ time.Duration) { r.processes[target].Tell(cmdHold) },
		end:   func(r *rig, target int) { r.processes[target].Tell(cmdSend) },
	}, {
		name: "terminate sessions", backends: onSQL,
		begin: func(r *rig, _ int, _ time.Duration) { s := r.store.(*sqlStore); s.others(r.tb, s.terminate) },
	}, {
		name: "cancel statements", backends: onSQL,
		begin: func(r *rig, _ int, _ time.Duration) { s := r.store.(*sqlStore); s.others(r.tb, s.cancel) },
	}, {
		name: "lock tables", backends: onSQL, shortest: 50 * time.Millisecond, longest: 1200 * time.Millisecond,
		begin: func(r *rig, _ int, _ time.Duration) { r.store.(*sqlStore).lock(r.tb) },
		end:   func(r *rig, _ int) { r.store.(*sqlStore).unlock() },
	}, {
		name: "shut down server", backends: onSQL, restarts: true, shortest: 10 * time.Millisecond, longest: 300 * time.Millisecond,
		begin: func(r *rig, _ int, _ time.Duration) { r.store.(*sqlStore).database.Shutdown(r.tb) },
		end:   func(r *rig, target int) { r.store.server(target).Restart(r.tb) },
	}, {
		name: "compact history", backends: onEtcd,
		begin: func(r *rig, _ int, _ time.Duration) { r.store.(*etcdStore).compact(r.tb) },
	}, {
		name: "raise NOSPACE", backends: onEtcd, shortest: 50 * time.Millisecond, longest: 1200 * time.Millisecond,
		begin: func(r *rig, _ int, _ time.Duration) { r.store.(*etcdStore).alarm(r.tb, true) },
		end:   func(r *rig, _ int) { r.store.(*etcdStore).alarm(r.tb, false) },
	}, {
		name: "move leader", backends: onCluster,
		begin: func(r *rig, _ int, _ time.Duration) { r.store.(*etcdStore).MoveLeader(r.tb) },
	}, {
		name: "restart all servers", backends: onCluster, restarts: true, shortest: 10 * time.Millisecond, longest: 300 * time.Millisecond,
		begin: func(r *rig, _ int, _ time.Duration) { r.store.(*etcdStore).Kill() },
		end:   func(r *rig, _ int) { r.store.(*etcdStore).Restart(r.tb) },
	},
}
