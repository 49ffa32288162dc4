package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/distlock-go/distlock/backend/sqllock"
)

// postgresServer reads the values of a PostgreSQL server.
type postgresServer struct{ database }

func examinePostgres(ctx context.Context, db *sql.DB) ([]Finding, error) {
	d := postgresServer{database{db, sqllock.Postgres}}
	if err := d.reach(ctx); err != nil {
		return nil, err
	}
	number, _ := d.number(ctx, "SELECT current_setting('server_version_num')::int")
	standby, _ := d.text(ctx, "SELECT pg_is_in_recovery()::text")
	findings := []Finding{
		postgresVersion(number),
		postgresRole(standby == "true", d.setting(ctx, "transaction_read_only") == "on"),
		isolation(d.setting(ctx, "default_transaction_isolation")),
		idleInTransaction(d.setting(ctx, "idle_in_transaction_session_timeout")),
	}
	findings = append(findings, d.connection(ctx)...)
	findings = append(findings, d.capacity(ctx), d.existing(ctx))
	if writable(findings) {
		findings = append(findings, d.privileges(ctx))
	}
	if writable(findings) {
		findings = append(findings, d.session(ctx))
	}

	findings = append(findings,
		postgresSync(d.setting(ctx, "fsync") == "on"),
		synchronousCommit(d.setting(ctx, "synchronous_commit")),
		fullPageWrites(d.setting(ctx, "full_page_writes") == "on"),
	)
	unlogged, err := d.number(ctx, "SELECT count(*) FROM pg_class WHERE relname IN ('distlock', 'distlock_member') AND relpersistence = 'u'")
	if err == nil {
		findings = append(findings, unloggedTables(unlogged))
	}
	if standby != "true" {
		findings = append(findings, d.replication(ctx)...)
	}
	const now = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
	return append(findings, d.timing(ctx, now, writable(findings))...), nil
}

// setting returns a setting as this session has it; "" if it cannot be read.
func (d postgresServer) setting(ctx context.Context, name string) string {
	value, err := d.text(ctx, "SELECT current_setting('"+name+"', true)")
	if err != nil {
		return ""
	}
	return value
}

// existing examines the tables.
func (d postgresServer) existing(ctx context.Context) Finding {
	var names []string
	for _, name := range d.tables() {
		found, err := d.text(ctx, "SELECT to_regclass('"+name+"')::text")
		if err != nil {
			return unseen("tables", "the tables", err)
		}
		if found != "" {
			names = append(names, name)
		}
	}
	return d.schema(ctx, names)
}

// connection examines what is between this program and the server.
func (d postgresServer) connection(ctx context.Context) []Finding {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return nil
	}
	defer conn.Close() //nolint:errcheck // nothing depends on it
	var config *pgx.ConnConfig
	var pid uint32
	err = conn.Raw(func(driverConn any) error {
		c, isPgx := driverConn.(*stdlib.Conn)
		if !isPgx {
			return errors.New("it is not a connection of pgx")
		}
		config, pid = c.Conn().Config(), c.Conn().PgConn().PID()
		return nil
	})
	if err != nil {
		return nil
	}
	var backend uint32
	if err := conn.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return nil
	}
	return []Finding{
		pooler(backend != pid, config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement),
		encryption(config.TLSConfig != nil, onLoopback(config.Host)),
	}
}

// capacity examines the number of connections.
func (d postgresServer) capacity(ctx context.Context) Finding {
	most, err := d.number(ctx, "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int")
	if err != nil {
		return unseen("connections", "max_connections", err)
	}
	used, err := d.number(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL")
	if err != nil {
		return unseen("connections", "pg_stat_activity", err)
	}
	return connections(used, most, "raise max_connections, or put a pooler in between")
}

// replication examines the standbys. A user without pg_read_all_stats sees that there are
// some, and not their state.
func (d postgresServer) replication(ctx context.Context) []Finding {
	rows, err := d.db.QueryContext(ctx, `SELECT coalesce(sync_state, '?'), coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0)::bigint,
		coalesce(extract(epoch FROM replay_lag), 0)::float8 FROM pg_stat_replication`)
	if err != nil {
		return []Finding{unseen("replicas", "pg_stat_replication", err)}
	}
	defer rows.Close() //nolint:errcheck // its error comes from Err
	var states []string
	var behind int64
	var lag float64
	for rows.Next() {
		var state string
		var diff int64
		var seconds float64
		if err := rows.Scan(&state, &diff, &seconds); err != nil {
			return []Finding{unseen("replicas", "pg_stat_replication", err)}
		}
		states, behind, lag = append(states, state), max(behind, diff), max(lag, seconds)
	}
	if rows.Err() != nil {
		return []Finding{unseen("replicas", "pg_stat_replication", rows.Err())}
	}
	findings := []Finding{postgresReplicas(states, d.setting(ctx, "synchronous_standby_names"))}
	if len(states) > 0 && !strings.Contains(strings.Join(states, ""), "?") {
		findings = append(findings, postgresLag(behind, time.Duration(lag*float64(time.Second))))
	}
	return findings
}

func postgresVersion(number int) Finding {
	seen := "PostgreSQL " + strconv.Itoa(number/10000)
	if number >= 100000 {
		seen += "." + strconv.Itoa(number%10000)
	}
	switch {
	case number == 0:
		return unseen("version", "server_version_num", nil)
	case number < 110000:
		return fault("version", seen, "use PostgreSQL 11 or later")
	default:
		return ok("version", "%s", seen)
	}
}

func postgresRole(standby, readOnly bool) Finding {
	switch {
	case standby:
		return fault("role", "a standby: it refuses every write", "connect to the primary: ?target_session_attrs=read-write in the URL, with all hosts")
	case readOnly:
		return fault("role", "transactions are read-only by default", "ALTER ROLE CURRENT_USER SET default_transaction_read_only = off")
	default:
		return ok("role", "the primary")
	}
}

func idleInTransaction(timeout string) Finding {
	if timeout == "0" {
		return note("idle-in-transaction", "idle_in_transaction_session_timeout is 0: there is no limit", "ALTER ROLE CURRENT_USER SET idle_in_transaction_session_timeout = '30s', if you use Guard")
	}
	return ok("idle-in-transaction", "%s", timeout)
}

// pooler decides on a connection that does, or does not, end at the server. prepares says
// that the client prepares statements.
func pooler(between, prepares bool) Finding {
	switch {
	case between && prepares:
		return warning("pooler", "there is one, and the client prepares statements", "?default_query_exec_mode=exec in the URL")
	case between:
		return note("pooler", "there is one: releases do not wake the waiters of other processes, which poll", "connect to the server itself, if that is too slow")
	default:
		return ok("pooler", "none")
	}
}

func postgresSync(on bool) Finding {
	if !on {
		return fault("fsync", "off", "fsync = on in postgresql.conf")
	}
	return ok("fsync", "on")
}

func synchronousCommit(value string) Finding {
	switch value {
	case "off":
		return warning("synchronous-commit", "off", "ALTER ROLE CURRENT_USER SET synchronous_commit = on")
	case "":
		return unseen("synchronous-commit", "synchronous_commit", nil)
	default:
		return ok("synchronous-commit", "%s", value)
	}
}

func fullPageWrites(on bool) Finding {
	if !on {
		return warning("full-page-writes", "off", "full_page_writes = on in postgresql.conf, unless the file system never writes half a page")
	}
	return ok("full-page-writes", "on")
}

func unloggedTables(n int) Finding {
	if n > 0 {
		return fault("unlogged-tables", count(n, "table")+" of the locks", "ALTER TABLE distlock SET LOGGED; ALTER TABLE distlock_member SET LOGGED;")
	}
	return ok("unlogged-tables", "none")
}

// postgresReplicas decides on the states of the standbys, "?" for those that the user may
// not see, and on synchronous_standby_names.
func postgresReplicas(states []string, names string) Finding {
	n := len(states)
	if n == 0 && names == "" {
		return note("replicas", "none: no failover can lose a lock, and there are no locks while this server is down", "add a standby, with synchronous_standby_names, if locks must be available then")
	}
	synchronous, hidden := 0, 0
	for _, s := range states {
		switch s {
		case "sync", "quorum":
			synchronous++
		case "?":
			hidden++
		}
	}
	seen := fmt.Sprintf("%s, %d synchronous", count(n, "standby"), synchronous)
	switch {
	case names == "":
		return warning("replicas", seen+": a failover loses what a standby has not received", "synchronous_standby_names = 'ANY 1 (*)' in postgresql.conf")
	case hidden > 0:
		return unseen("replicas", "the states in pg_stat_replication; synchronous_standby_names is "+names, nil)
	case synchronous == 0:
		return fault("replicas", seen+", and synchronous_standby_names is "+names+": commits wait without end", "start a standby with one of these names")
	default:
		return ok("replicas", "%s", seen)
	}
}

func postgresLag(behind int64, lag time.Duration) Finding {
	seen := fmt.Sprintf("%s, %v", bytes(behind), short(lag))
	if behind > 16<<20 || lag > 10*time.Second {
		return warning("replication-lag", seen, "look at the standby's log and at the network")
	}
	return ok("replication-lag", "%s", seen)
}
