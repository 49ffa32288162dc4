package matrix

import (
	"errors"
	"fmt"
	"slices"
)

// row is a fault.
type row struct {
	fault    string
	backends []string // on which the outcome must be proved
}

const (
	redis  = "redislock"
	quorum = "redlock"
	zoo    = "zklock"
	mem    = "memlock"
	sql    = "sqllock"
	etcd   = "etcdlock"
	whole  = "any" // independent of the backend: counts for all
)

// backends are the columns of the table.
var backends = []string{redis, quorum, sql, zoo, etcd, mem}

// rows are the faults in order. A backend is missing where the fault cannot happen:
// memlock has no server, and ZooKeeper has no scripts.
var rows = []row{
	{"holder stopped (SIGSTOP) for three leases", []string{redis, quorum, zoo, etcd, sql}},
	{"holder killed", []string{redis, quorum, zoo, etcd, sql}},
	{"50 waiters killed", []string{redis}},
	{"server restarted empty", []string{redis, quorum, sql}},
	{"failover to a stale replica", []string{redis, sql}},
	{"an old master still writes", []string{redis}},
	{"partition between holder and server, both ways and one", []string{redis, quorum, zoo, etcd, sql}},
	{"reply lost after the request was applied", []string{redis, quorum, zoo, etcd, sql}},
	{"slow network, slow server", []string{redis, quorum, zoo, etcd, sql}},
	{"client's clock an hour off, machine suspended", []string{redis, quorum, zoo, etcd, sql, mem}},
	{"server's clock an hour off", []string{redis, sql}},
	{"ZooKeeper: session expired, connection cut, server restarted", []string{zoo}},
	{"panic, Goexit, a function that ignores its context", []string{redis, quorum, zoo, etcd, sql, mem}},
	{"context cancelled while waiting (1,000 at once) and while releasing", []string{redis, quorum, zoo, etcd, sql, mem}},
	{"message lost, subscription killed, buffer overflown", []string{redis}},
	{"SCRIPT FLUSH in a loop", []string{redis, quorum}},
	{"the server refuses: OOM, READONLY, LOADING, MASTERDOWN, CLUSTERDOWN, BUSY, NOREPLICAS, NOAUTH", []string{redis, quorum}},
	{"Cluster: a slot moves, a node is lost", []string{redis}},
	{"Sentinel fails over", []string{redis}},
	{"10,000 waiters on one key in four processes", []string{redis}},
	{"a flood of random keys", []string{redis}},
	{"a foreign value or type at the lock's key", []string{redis, quorum, zoo, etcd}},
	{"Redlock: a minority is down, hung, restarted", []string{quorum}},
	{"SIGTERM and Close with locks held, waited for, handed over", []string{redis, quorum, zoo, etcd, sql, mem}},
	{"unknown keys, oversize and invalid parameters", []string{redis, quorum, zoo, etcd, sql, mem}},
	{"etcd: a member is killed, the leader moves or is stopped, there is no majority", []string{etcd}},
	{"etcd: compaction while a waiter watches", []string{etcd}},
	{"etcd: the lease expires or is revoked", []string{etcd}},
	{"etcd: the database is full (NOSPACE)", []string{etcd}},
	{"SQL: the database restarts", []string{sql}},
	{"SQL: an administrator kills the connection", []string{sql}},
	{"SQL: deadlock, serialization failure", []string{sql}},
	{"SQL: the disk is full", []string{sql}},
}

// complete returns an error that names each row and backend without a proof, and each
// proof of an unknown row or backend.
func complete(proofs []proof) error {
	var errs []error
	proved := make(map[int][]string)
	for _, p := range proofs {
		if p.row < 1 || p.row > len(rows) {
			errs = append(errs, fmt.Errorf("%s: there is no row %d", p.test, p.row))
			continue
		}
		for _, b := range p.backends {
			if !slices.Contains(backends, b) && b != whole {
				errs = append(errs, fmt.Errorf("%s: there is no backend %q", p.test, b))
			}
		}
		proved[p.row] = append(proved[p.row], p.backends...)
	}
	for i, r := range rows {
		for _, b := range r.backends {
			if !slices.Contains(proved[i+1], b) && !slices.Contains(proved[i+1], whole) {
				errs = append(errs, fmt.Errorf("row %d, %s: no test has it for %s", i+1, r.fault, b))
			}
		}
	}
	return errors.Join(errs...)
}
