package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

var postgresChecks = []sqlCheck{
	{"version", server, versionWhy, query("SHOW server_version", atLeast("PostgreSQL", 11, 0))},
	{"role", server, roleWhy, query("SELECT CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE current_setting('transaction_read_only') END", postgresRole)},
	{"pooler", server,
		"Behind a pooler in transaction mode, statements that a session has prepared do not exist, and a NOTIFY does not arrive (P5).", postgresPooler},
	{"fsync", durability, "A crash of the machine can lose locks and the last tokens, or the whole table (P1, P3).",
		query("SHOW fsync", is("on", fault, "fsync = on in postgresql.conf"))},
	{"synchronous-commit", durability, "A crash loses the locks of the last moments: two holders are possible (P1).",
		query("SHOW synchronous_commit", synchronousCommit)},
	{"unlogged-tables", durability, "A crash empties unlogged tables: locks and the last tokens are lost (P1, P3).",
		query("SELECT count(*) FROM pg_class WHERE relname IN ('distlock', 'distlock_member') AND relpersistence = 'u'",
			is("0", fault, "ALTER TABLE distlock SET LOGGED; ALTER TABLE distlock_member SET LOGGED;"))},
	{"replicas", durability, replicasWhy, postgresReplicas},
	{"snapshot", timing, snapshotWhy, query(`SELECT coalesce(max(extract(epoch FROM clock_timestamp() - since)), 0)::bigint FROM (
		SELECT xact_start AS since FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND backend_type = 'client backend'
		UNION ALL SELECT prepared FROM pg_prepared_xacts) AS t`, judgeSnapshot)},
}

func postgresRole(value string) verdict {
	switch value {
	case "standby":
		return fault("a standby: it refuses every write", "connect to the primary: ?target_session_attrs=read-write in the URL, with all hosts")
	case "on":
		return fault("transactions are read-only by default", "ALTER ROLE CURRENT_USER SET default_transaction_read_only = off")
	default:
		return ok("the primary")
	}
}

func synchronousCommit(value string) verdict {
	if value == "off" {
		return warning("off", "ALTER ROLE CURRENT_USER SET synchronous_commit = on")
	}
	return ok("%s", value)
}

// postgresPooler compares the process that greeted the client with the process of the session.
func postgresPooler(ctx context.Context, db *sql.DB) (verdict, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return verdict{}, err
	}
	defer conn.Close() //nolint:errcheck // nothing depends on it
	var prepares bool
	var pid, session uint32
	err = conn.Raw(func(driverConn any) error {
		c, isPgx := driverConn.(*stdlib.Conn)
		if !isPgx {
			return errors.New("it is not a connection of pgx")
		}
		pid, prepares = c.Conn().PgConn().PID(), c.Conn().Config().DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
		return nil
	})
	if err == nil {
		err = conn.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&session)
	}
	return judgePooler(pid != session, prepares), err
}

// judgePooler judges a connection that does, or does not, end at the server. prepares says
// that the client prepares statements.
func judgePooler(between, prepares bool) verdict {
	switch {
	case between && prepares:
		return warning("there is one, and the client prepares statements", "?default_query_exec_mode=exec in the URL")
	case between:
		return note("there is one: releases do not wake the waiters of other processes, which poll", "connect to the server itself, if that is too slow")
	default:
		return ok("none")
	}
}

// postgresReplicas counts the standbys. A user without pg_read_all_stats sees how many there
// are, and not which are synchronous.
func postgresReplicas(ctx context.Context, db *sql.DB) (verdict, error) {
	var standby bool
	var all, synchronous, hidden int
	var names string
	err := db.QueryRowContext(ctx, `SELECT pg_is_in_recovery(), count(*), count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')),
		count(*) FILTER (WHERE sync_state IS NULL), current_setting('synchronous_standby_names')
		FROM pg_stat_replication`).Scan(&standby, &all, &synchronous, &hidden, &names)
	if standby {
		return verdict{}, nil
	}
	if err == nil && hidden > 0 && names != "" {
		err = errors.New("the states in pg_stat_replication")
	}
	return judgeStandbys(all, synchronous, names), err
}

func judgeStandbys(all, synchronous int, names string) verdict {
	seen := fmt.Sprintf("%s, %d synchronous", count(all, "standby"), synchronous)
	switch {
	case names != "" && synchronous == 0:
		return fault(seen+", and synchronous_standby_names is "+names+": commits wait without end", "start a standby with one of these names")
	case all == 0:
		return note("none: no failover can lose a lock, and there are no locks while this server is down",
			"add a standby, with synchronous_standby_names, if locks must be available then")
	case names == "":
		return warning(seen+": a failover loses what a standby has not received", "synchronous_standby_names = 'ANY 1 (*)' in postgresql.conf")
	default:
		return ok("%s", seen)
	}
}
