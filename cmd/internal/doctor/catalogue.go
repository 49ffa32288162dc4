package doctor

// Check is what a check is about.
type Check struct {
	ID     string // stable, in lower case with hyphens
	Topic  string
	Stores string // for which there is this check
	Why    string // it matters. P1 to P8 are the promises in docs/reliability.md
}

// The topics, in the order of the report.
const (
	server     = "Server"
	durability = "What a crash or a failover loses"
	access     = "Access"
	timing     = "Time"
)

var topics = []string{server, durability, access, timing}

// Catalogue has all checks.
var Catalogue = []Check{
	{"version", server, "all", "The locks need commands and statements that older servers do not have, and the tests run on these stores only."},
	{"role", server, "all but SQLite", "Only the primary grants, renews and releases locks (P1)."},
	{"sentinel", server, "Redis", "After a failover the Sentinels name another address, and a program with this one loses its locks and gets no new ones (P5)."},
	{"writes", server, "Redis", "An acquisition, a renewal and a release are writes (P2, P5)."},
	{"scripts", server, "Redis", "Every operation is one Lua script, so that it is atomic (P1, P6)."},
	{"cluster-url", server, "Redis", "A client of one server cannot use the keys of the other servers (P5)."},
	{"cluster-state", server, "Redis", "While the Cluster is down, no lock is granted or renewed (P5)."},
	{"cluster-slots", server, "Redis", "If a slot has no master, its locks are neither granted nor renewed (P5)."},
	{"cluster-replicas", server, "Redis", "Without a replica, the locks of a master that dies are unavailable until it is back (P5)."},
	{"memory", server, "Redis", "A server that is out of memory grants no new locks (P5)."},
	{"connections", server, "Redis, PostgreSQL, MySQL", "A process that gets no connection cannot acquire or renew (P2, P5)."},
	{"idle-timeout", server, "Redis, PostgreSQL, MySQL", "A connection that the server closes costs the next operation a new one (P5)."},
	{"tcp-keepalive", server, "Redis", "Without it the connections of machines that died stay, and count (P5)."},
	{"members", server, "ZooKeeper, etcd", "Locks are available while a majority of the servers is. Three servers survive the loss of one, and a fourth adds nothing (P5)."},
	{"member-health", server, "ZooKeeper, etcd", "A server that is down is missing when the next one fails (P5)."},
	{"url-servers", server, "ZooKeeper, etcd", "A client that knows one server is cut off when that one is down (P2, P5)."},
	{"alarms", server, "etcd", "With the alarm NOSPACE no new lock is granted; with CORRUPT nothing is certain (P1, P5)."},
	{"database-size", server, "etcd", "A database that is full raises the alarm NOSPACE, and no new lock is granted (P5)."},
	{"auto-compaction", server, "etcd", "Each lock is a write, and etcd keeps its history until it is compacted (P5)."},
	{"tables", server, "PostgreSQL, MySQL, SQLite", "A lock is a row. A Backend does not create the tables (P1)."},
	{"table-engine", server, "MySQL", "An engine without transactions neither excludes two owners nor survives a crash (P1)."},
	{"isolation", server, "PostgreSQL, MySQL", "Operations that conflict are repeated. With a strict level there are more of them (P5)."},
	{"autocommit", server, "MySQL", "An operation that is one statement has to commit by itself (P1)."},
	{"session", server, "PostgreSQL, MySQL, SQLite", "Settings of the user, the database or the driver decide whether a session can write, and whether that is committed (P1, P5)."},
	{"pooler", server, "PostgreSQL", "Behind a pooler in transaction mode, statements that a session has prepared do not exist, and a NOTIFY does not arrive (P5)."},
	{"idle-in-transaction", server, "PostgreSQL", "A process that hangs in a transaction with Guard keeps the key from all others (P5, P7)."},
	{"file-system", server, "SQLite", "On a network file system SQLite's locks do not work, and two processes may write at the same time (P1)."},
	{"session-timeout", server, "ZooKeeper", "No lease is longer than half of the session, and the locks of a dead process last until it ends (P2, P7)."},

	{"eviction", durability, "Redis", "A lock is a key that expires. If it is evicted, another gets the lock while the holder works (P1, P2)."},
	{"persistence", durability, "Redis", "A server that restarts without its data has forgotten all locks: two holders are possible until the first one renews (P1)."},
	{"disk-writes", durability, "Redis", "A server that cannot save its data refuses writes, or forgets them at a restart (P1, P5)."},
	{"replicas", durability, "Redis, PostgreSQL, MySQL", "A lock that the replica has not received is lost when the replica takes over: two holders are possible (P1)."},
	{"replication-lag", durability, "Redis, PostgreSQL", "A failover loses the locks of the time that the replica is behind (P1)."},
	{"token-clock", durability, "Redis", "If the last token is lost while the clock is behind it, tokens are repeated (P3)."},
	{"fsync", durability, "PostgreSQL", "A crash of the machine can lose locks and the last tokens, or the whole table (P1, P3)."},
	{"synchronous-commit", durability, "PostgreSQL", "A crash loses the locks of the last moments: two holders are possible (P1)."},
	{"full-page-writes", durability, "PostgreSQL", "A crash can leave half-written pages: locks and tokens are then wrong (P1, P3)."},
	{"unlogged-tables", durability, "PostgreSQL", "A crash empties unlogged tables: locks and the last tokens are lost (P1, P3)."},
	{"flush-log-at-commit", durability, "MySQL", "A crash loses the locks of the last second: two holders are possible (P1)."},
	{"flush-method", durability, "MySQL", "Commits that never reach the disk are lost when the machine crashes, and the tables may be damaged (P1, P3)."},
	{"doublewrite", durability, "MySQL", "A crash can leave half-written pages: locks and tokens are then wrong (P1, P3)."},
	{"journal-mode", durability, "SQLite", "The journal decides what a crash leaves, and whether readers block writers (P1, P5)."},

	{"authentication", access, "Redis, ZooKeeper, etcd", "Every client that can write the keys can take every lock (P1, P6)."},
	{"tls", access, "Redis, PostgreSQL, MySQL, etcd", "Without TLS the network can read passwords and owners, and an owner is all that is needed to release a lock (P6)."},
	{"acl-commands", access, "Redis", "An operation with a command that the user may not run fails (P1, P5)."},
	{"acl-optional", access, "Redis", "Locks work without these commands, and lack what is named (P5)."},
	{"acl-keys", access, "Redis", "An operation on a key that the user may not use fails (P5)."},
	{"acl-channels", access, "Redis", "A release wakes a waiter by a message. Without it waiters poll (P5)."},
	{"privileges", access, "PostgreSQL, MySQL", "An operation with a statement that the user may not run fails (P5)."},
	{"root-acl", access, "ZooKeeper", "Every client that can delete the nodes can take every lock (P1, P6)."},
	{"write-access", access, "ZooKeeper, etcd, SQLite", "Without the right to write, no lock is granted (P5)."},

	{"round-trip", timing, "all but SQLite", "A lease is renewed at a third of its time. A store that is slow for longer than that costs leases (P2)."},
	{"commit", timing, "PostgreSQL, MySQL, SQLite, ZooKeeper, etcd", "Each acquisition and each renewal is a change that has to reach the disk (P2)."},
	{"wake-up", timing, "Redis", "A release wakes a waiter by a message. The lock is free for that long (P5)."},
	{"clock", timing, "Redis, PostgreSQL, MySQL", "Leases and tokens use the store's clock alone, but a wrong clock is often one that jumps, and a jump ends leases early (P2, P3)."},
}
