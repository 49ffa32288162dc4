package doctor

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
)

// mysqlServer reads the values of a MySQL or MariaDB server.
type mysqlServer struct{ database }

func examineMySQL(ctx context.Context, db *sql.DB) ([]Finding, error) {
	d := mysqlServer{database{db, sqllock.MySQL}}
	if err := d.reach(ctx); err != nil {
		return nil, err
	}
	version, _ := d.text(ctx, "SELECT version()")
	findings := []Finding{
		mysqlVersion(version),
		mysqlRole(d.variable(ctx, "read_only"), d.variable(ctx, "innodb_read_only")),
		isolation(d.isolation(ctx)),
		autocommit(d.variable(ctx, "autocommit")),
	}
	if seconds, err := strconv.Atoi(d.variable(ctx, "wait_timeout")); err == nil {
		findings = append(findings, mysqlIdle(time.Duration(seconds)*time.Second))
	}
	if cipher, err := d.status(ctx, "Ssl_cipher"); err == nil {
		host, _ := d.text(ctx, "SELECT SUBSTRING_INDEX(host, ':', 1) FROM information_schema.processlist WHERE id = connection_id()")
		findings = append(findings, encryption(cipher != "", onLoopback(host)))
	}
	findings = append(findings, d.capacity(ctx))
	findings = append(findings, d.existing(ctx)...)
	if writable(findings) {
		findings = append(findings, d.privileges(ctx))
	}
	if writable(findings) {
		findings = append(findings, d.session(ctx))
	}
	findings = append(findings,
		flushLog(d.variable(ctx, "innodb_flush_log_at_trx_commit")),
		flushMethod(d.variable(ctx, "innodb_flush_method")),
		doublewrite(d.variable(ctx, "innodb_doublewrite")),
		d.replication(ctx),
	)
	const now = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
	return append(findings, d.timing(ctx, now, writable(findings))...), nil
}

// variable returns a system variable as this session has it; "" if there is none.
func (d mysqlServer) variable(ctx context.Context, name string) string {
	value, err := d.text(ctx, "SELECT @@"+name)
	if err != nil {
		return ""
	}
	return value
}

// isolation returns the level. The variable has one name in MySQL and another in MariaDB.
func (d mysqlServer) isolation(ctx context.Context) string {
	if level := d.variable(ctx, "transaction_isolation"); level != "" {
		return level
	}
	return d.variable(ctx, "tx_isolation")
}

// status returns a status variable.
func (d mysqlServer) status(ctx context.Context, name string) (string, error) {
	var key, value string
	err := d.db.QueryRowContext(ctx, "SHOW STATUS LIKE '"+name+"'").Scan(&key, &value)
	return value, err
}

func (d mysqlServer) capacity(ctx context.Context) Finding {
	most, err := strconv.Atoi(d.variable(ctx, "max_connections"))
	if err != nil {
		return unseen("connections", "max_connections", nil)
	}
	text, err := d.status(ctx, "Threads_connected")
	if err != nil {
		return unseen("connections", "Threads_connected", err)
	}
	used, _ := strconv.Atoi(text)
	return connections(used, most, "SET GLOBAL max_connections, or fewer connections for each program")
}

// existing examines the tables and their engines.
func (d mysqlServer) existing(ctx context.Context) []Finding {
	rows, err := d.db.QueryContext(ctx, "SELECT table_name, coalesce(engine, '?') FROM information_schema.tables WHERE table_schema = database() AND table_name LIKE 'distlock%'")
	if err != nil {
		return []Finding{unseen("tables", "the tables", err)}
	}
	defer rows.Close() //nolint:errcheck // its error comes from Err
	var names, others []string
	for rows.Next() {
		var name, engine string
		if err := rows.Scan(&name, &engine); err != nil {
			return []Finding{unseen("tables", "the tables", err)}
		}
		names = append(names, name)
		if engine != "InnoDB" {
			others = append(others, name+" ("+engine+")")
		}
	}
	if rows.Err() != nil {
		return []Finding{unseen("tables", "the tables", rows.Err())}
	}
	findings := []Finding{d.schema(ctx, names)}
	if len(names) > 0 {
		findings = append(findings, tableEngine(others))
	}
	return findings
}

// replication counts the connections of replicas, which a user without the right PROCESS
// does not see.
func (d mysqlServer) replication(ctx context.Context) Finding {
	if log := d.variable(ctx, "log_bin"); log == "0" {
		return mysqlReplicas(0, false)
	}
	dumps, err := d.number(ctx, "SELECT count(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'")
	if err != nil {
		return unseen("replicas", "the replicas", err)
	}
	others, err := d.number(ctx, "SELECT count(*) FROM information_schema.processlist WHERE user <> substring_index(current_user(), '@', 1)")
	if dumps == 0 && (err != nil || others == 0) {
		return unseen("replicas", "the replicas without the right PROCESS; the binary log is on", err)
	}
	return mysqlReplicas(dumps, true)
}

var leadingNumber = regexp.MustCompile(`^(\d+)\.(\d+)\.?\d*`)

func mysqlVersion(text string) Finding {
	m := leadingNumber.FindStringSubmatch(text)
	if m == nil {
		return unseen("version", "the version", nil)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if strings.Contains(text, "MariaDB") {
		if major < 10 || major == 10 && minor < 6 {
			return fault("version", "MariaDB "+m[0], "use MariaDB 10.6 or later")
		}
		return ok("version", "MariaDB %s", m[0])
	}
	if major < 8 {
		return fault("version", "MySQL "+m[0], "use MySQL 8.0 or later")
	}
	return ok("version", "MySQL %s", m[0])
}

func mysqlRole(readOnly, innodb string) Finding {
	if readOnly == "1" || innodb == "1" {
		return fault("role", "read-only", "connect to the primary, or SET GLOBAL read_only = OFF if it is one")
	}
	return ok("role", "it can be written")
}

func autocommit(value string) Finding {
	if value == "0" {
		return fault("autocommit", "off", "SET GLOBAL autocommit = ON")
	}
	return ok("autocommit", "on")
}

func mysqlIdle(d time.Duration) Finding {
	seen := fmt.Sprintf("wait_timeout %v", d)
	if d < time.Minute {
		return note("idle-timeout", seen, "SET GLOBAL wait_timeout = 28800, or db.SetConnMaxIdleTime with less")
	}
	return ok("idle-timeout", "%s", seen)
}

func tableEngine(others []string) Finding {
	if len(others) == 0 {
		return ok("table-engine", "InnoDB")
	}
	var alter []string
	for _, t := range others {
		name, _, _ := strings.Cut(t, " ")
		alter = append(alter, "ALTER TABLE "+name+" ENGINE=InnoDB;")
	}
	return fault("table-engine", strings.Join(others, ", "), strings.Join(alter, " "))
}

func flushLog(value string) Finding {
	if value == "1" {
		return ok("flush-log-at-commit", "1")
	}
	if value == "" {
		return unseen("flush-log-at-commit", "innodb_flush_log_at_trx_commit", nil)
	}
	return warning("flush-log-at-commit", value, "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and the same in my.cnf")
}

func flushMethod(value string) Finding {
	if value == "" {
		return unseen("flush-method", "innodb_flush_method", nil)
	}
	if strings.Contains(strings.ToLower(value), "nosync") {
		return fault("flush-method", value, "innodb_flush_method = O_DIRECT in my.cnf")
	}
	return ok("flush-method", "%s", value)
}

func doublewrite(value string) Finding {
	switch strings.ToUpper(value) {
	case "0", "OFF", "DETECT_ONLY":
		return warning("doublewrite", "off", "innodb_doublewrite = ON in my.cnf, unless the file system never writes half a page")
	default:
		return ok("doublewrite", "on")
	}
}

// mysqlReplicas decides on the number of replicas.
func mysqlReplicas(n int, log bool) Finding {
	switch {
	case !log:
		return note("replicas", "none, the binary log is off: no failover can lose a lock, and there are no locks while this server is down", "add a replica, if locks must be available then")
	case n == 0:
		return note("replicas", "none is connected", "start it, if there should be one")
	default:
		return warning("replicas", count(n, "replica")+": a failover loses what a replica has not received, even with semi-synchronous replication, which may fall back", "zklock, etcdlock or PostgreSQL with a synchronous standby, if a lost lock is expensive")
	}
}
