package doctor

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
)

var mysqlChecks = []sqlCheck{
	{"version", server, versionWhy, query("SELECT version()", mysqlVersion)},
	{"role", server, roleWhy, query("SELECT @@read_only", is("0", fault, "connect to the primary, or SET GLOBAL read_only = OFF if it is one"))},
	{"table-engine", server, "An engine without transactions neither excludes two owners nor survives a crash (P1).",
		query(`SELECT group_concat(table_name, ' ', engine) FROM information_schema.tables
			WHERE table_schema = database() AND table_name LIKE 'distlock%' AND engine <> 'InnoDB'`, tableEngine)},
	{"flush-log-at-commit", durability, "A crash loses the locks of the last second: two holders are possible (P1).",
		query("SELECT @@innodb_flush_log_at_trx_commit", is("1", warning, "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and the same in my.cnf"))},
	{"replicas", durability, replicasWhy, mysqlReplicas},
	{"snapshot", timing, snapshotWhy,
		query("SELECT coalesce(max(timestampdiff(SECOND, trx_started, now())), 0) FROM information_schema.innodb_trx", judgeSnapshot)},
}

func mysqlVersion(text string) verdict {
	if version, isMariaDB := strings.CutSuffix(text, "-MariaDB"); isMariaDB || strings.Contains(text, "MariaDB") {
		return atLeast("MariaDB", 10, 6)(version)
	}
	return atLeast("MySQL", 8, 0)(text)
}

func tableEngine(others string) verdict {
	if others == "" {
		return ok("InnoDB")
	}
	return fault(others, "ALTER TABLE … ENGINE=InnoDB, for each of them")
}

// mysqlReplicas counts the connections of replicas, which a user without the right PROCESS
// does not see.
func mysqlReplicas(ctx context.Context, db *sql.DB) (verdict, error) {
	log, err := read(ctx, db, "SELECT @@log_bin")
	if err != nil || log == "0" {
		return judgeDumps(0), err
	}
	var dumps, others int
	err = db.QueryRowContext(ctx, `SELECT coalesce(sum(command LIKE 'Binlog Dump%'), 0), coalesce(sum(user <> substring_index(current_user(), '@', 1)), 0)
		FROM information_schema.processlist`).Scan(&dumps, &others)
	if err == nil && others == 0 {
		err = errors.New("the user may not have the right PROCESS")
	}
	return judgeDumps(dumps), err
}

// judgeDumps judges the number of replicas that read the binary log.
func judgeDumps(n int) verdict {
	if n == 0 {
		return note("none: no failover can lose a lock, and there are no locks while this server is down", "add a replica, if locks must be available then")
	}
	return warning(strconv.Itoa(n)+" connected: a failover loses what a replica has not received, even with semi-synchronous replication, which may fall back",
		"zklock, etcdlock or PostgreSQL with a synchronous standby, if a lost lock is expensive")
}
