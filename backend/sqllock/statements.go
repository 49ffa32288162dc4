package sqllock

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/distlock-go/distlock/driver"
)

// statements are the SQL of a Backend.
type statements struct {
	table table

	acquire []*statement // each takes a key that is free, if it can
	release []*statement // each gives back a key that no other owner wants, if it can

	peek    *statement // reads a key and its members
	create  *statement // adds the row of a key
	load    *statement // locks the row of a key and reads it
	members *statement // locks the members of a key and reads them
	remove  *statement // locks what Guard locks

	setKey    *statement
	setMember *statement
	addMember *statement
	delMember *statement
	touch     *statement // a waiter that asks again
	close     *statement // in MySQL: ends what Guard allows
	notify    *statement // in PostgreSQL

	guard       *statement
	guardMember *statement // whether a token is of an owner that shares the key
	addGuard    *statement // in MySQL: the row that Guard locks
	setGuarded  *statement // notes that Guard was called for the key
	delGuard    *statement

	list     *statement // reads the next keys that are in use, and the first of their members
	unused   *statement // finds rows to delete
	delKey   *statement
	takeTurn *statement // lets one process at a time look for rows to delete
	version  *statement

	mark *statement // changes the row with the version by itself, as acquire does
	left *statement // in MySQL: how many rows the tables have of a key
}

// The next token will be larger than the row's even if the clock is set back by
// the retention.
const unused = "expires < {now} - :retention AND token < {now} - :retention"

// How many keys one statement reads.
const (
	listPage  = 200
	sweepPage = 500
)

// belowSavepoint is what the statement of PostgreSQL returns in a part of a transaction that
// began at a savepoint.
const belowSavepoint = -1

func newStatements(d Dialect, t table) *statements {
	one := func(template string) *statement { return d.compile(t, template) }
	type by = map[Dialect]string
	const columns = "l.owner, l.prior_token, l.token, l.since, l.expires, l.busy, {guarded}, {now}"
	const keyAndMember = "l.lock_key, " + columns + ", coalesce(m.owner, ''), coalesce(m.ticket, 0), coalesce(m.sharing, 0), " +
		"coalesce(m.prior_token, 0), coalesce(m.token, 0), coalesce(m.since, 0), coalesce(m.expires, 0)"
	// Most keys have a row: to change it costs the database less than an INSERT that
	// finds it. In MySQL the statement sets the columns one after the other, and the
	// result has no rows: LAST_INSERT_ID passes the token. It must commit by itself: in
	// a session that does not do that, or changes keys, it takes nothing. A transaction
	// decides then, and for a key without a row.
	const take = `UPDATE {lock} AS l SET prior_token = l.token, token = %s, since = {now}, expires = {now} + :ttl, owner = :owner
WHERE {row} AND l.owner = '' AND l.busy = 0{commits}`
	const next = "{max}(l.token + :tokens, {now})"
	acquire := []*statement{
		one(fmt.Sprintf(take, next) + " RETURNING token"),
		one(`INSERT INTO {lock} (lock_key, owner, prior_token, token, since, expires, busy)
SELECT :key, :owner, {now} - :tokens, {now}, {now}, {now} + :ttl, 0 WHERE true{commits} ON CONFLICT (lock_key) DO NOTHING RETURNING token`),
	}
	if d == MySQL {
		acquire = []*statement{one(fmt.Sprintf(take, "LAST_INSERT_ID("+next+")"))}
	}
	const giveBack = `UPDATE {lock} AS l SET owner = '', expires = {now}
WHERE {row} AND l.owner = :owner AND l.busy = 0`
	release := []*statement{one(giveBack)}
	switch d {
	case Postgres:
		// The commit does not wait for the disk: to lose a release is to wait for the
		// end of the lease. The second statement is for a key that Guard was called
		// for: it locks the row. One statement for both would cost each release what a
		// change costs.
		const hasty = giveBack + " AND set_config('synchronous_commit', 'off', true) = 'off'"
		release = []*statement{
			one(hasty + " AND l.guarded = 0"),
			one(hasty + " AND EXISTS (SELECT 1 FROM {lock} WHERE lock_key = :key {update} SKIP LOCKED)"),
		}
	case MySQL:
		release = []*statement{one(giveBack + " AND l.guarded = 0{commits}")}
	}
	return &statements{
		table: t,

		acquire: acquire,
		release: release,

		peek: one(`SELECT ` + keyAndMember + `, 0 FROM {lock} AS l LEFT JOIN {member} AS m ON m.lock_key = l.lock_key
WHERE {row} ORDER BY m.ticket`),
		// The tokens begin after all that the key had before its row was deleted.
		create: one(`{insert} INTO {lock} (lock_key, owner, prior_token, token, since, expires, busy)
VALUES (:key, '', {now}, {now}, 0, 0, 0){conflict}`),
		// In PostgreSQL the outer query reads the clock when the inner one has the lock.
		// In MySQL the clock is read at the start: what counts as running is running.
		load: one(cmp.Or(by{Postgres: `WITH l AS (SELECT * FROM {lock} WHERE lock_key = :key {shared})
SELECT ` + columns + ` FROM l`}[d], `SELECT `+columns+` FROM {lock} AS l WHERE l.lock_key = :key {shared}`)),
		members: one(`SELECT owner, ticket, sharing, prior_token, token, since, expires
FROM {member} WHERE lock_key = :key ORDER BY ticket {update}`),
		remove: one(by{
			Postgres: `SELECT token FROM {lock} WHERE lock_key = :key {update} SKIP LOCKED`,
			MySQL:    `SELECT closed FROM {guard} WHERE lock_key = :key {update} SKIP LOCKED`,
		}[d]),

		setKey: one(`UPDATE {lock} SET owner = :owner, prior_token = :prior, token = :token, since = :since, expires = :expires,
  busy = :busy WHERE lock_key = :key`),
		setMember: one(`UPDATE {member} SET ticket = :ticket, sharing = :sharing, prior_token = :prior, token = :token, since = :since,
  expires = :expires WHERE lock_key = :key AND owner = :owner`),
		addMember: one(`INSERT INTO {member} (lock_key, owner, ticket, sharing, prior_token, token, since, expires)
VALUES (:key, :owner, :ticket, :sharing, :prior, :token, :since, :expires)`),
		delMember: one(`DELETE FROM {member} WHERE lock_key = :key AND owner = :owner`),
		touch:     one(`UPDATE {member} SET expires = {now} WHERE lock_key = :key AND owner = :owner AND token = 0{commits}`),
		close:     one(`UPDATE {guard} SET closed = :token WHERE lock_key = :key`),
		notify:    one(`SELECT pg_notify(:channel, :message)`),

		guard: one(by{
			// The outer query reads what has locked the row when the inner one has. If that is
			// not the transaction alone, it counts the parts that have written or locked.
			Postgres: `WITH l AS (SELECT lock_key, guarded FROM {lock}
  WHERE lock_key = :key AND owner <> '' AND prior_token < :token AND token >= :token FOR KEY SHARE)
SELECT CASE
  WHEN txid_current() % 4294967296 = (SELECT CAST(CAST(r.xmax AS text) AS bigint) FROM {lock} AS r WHERE r.lock_key = l.lock_key) THEN guarded
  WHEN (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'transactionid' AND mode = 'ExclusiveLock') > 1
  THEN ` + strconv.Itoa(belowSavepoint) + ` ELSE guarded END FROM l`,
			MySQL: `SELECT 1 FROM {guard} WHERE lock_key = :key AND closed < :token LOCK IN SHARE MODE`,
			SQLite: `UPDATE {lock} SET owner = owner WHERE lock_key = :key AND owner <> '' AND prior_token < :token AND token >= :token
RETURNING 1`,
		}[d]),
		guardMember: one(`SELECT token FROM {member} WHERE lock_key = :key AND prior_token < :token AND token >= :token`),
		addGuard: one(`INSERT INTO {guard} (lock_key, closed) VALUES (:key, :token)
ON DUPLICATE KEY UPDATE closed = {max}(closed, :token)`),
		delGuard:   one(`DELETE FROM {guard} WHERE lock_key = :key`),
		setGuarded: one(`UPDATE {lock} SET guarded = 1 WHERE lock_key = :key`),

		// Of the members of a key it returns the first, and how many of each kind.
		list: one(`WITH l AS (SELECT * FROM {lock}
  WHERE lock_key > :from AND lock_key >= :prefix AND lock_key < :to AND (busy > 0 OR owner <> '' AND expires > {now})
  ORDER BY lock_key LIMIT ` + strconv.Itoa(listPage) + `),
m AS (SELECT r.*, count(*) OVER (PARTITION BY r.lock_key, r.token = 0) AS total, row_number() OVER (
    PARTITION BY r.lock_key, r.token = 0 ORDER BY CASE WHEN r.token = 0 THEN r.ticket ELSE r.expires END) AS place
  FROM l JOIN {member} AS r ON r.lock_key = l.lock_key
  WHERE r.token > 0 AND r.expires > {now} OR r.token = 0 AND r.expires > {now} - ` + fmt.Sprint(deadAfter) + `)
SELECT ` + keyAndMember + `, coalesce(m.total, 0) FROM l LEFT JOIN m ON m.lock_key = l.lock_key
  AND m.place <= CASE WHEN m.token = 0 THEN ` + strconv.Itoa(driver.MaxWaiterInfos) + ` ELSE ` + strconv.Itoa(driver.MaxHolderInfos) + ` END
ORDER BY l.lock_key, m.ticket`),
		unused: one(`SELECT lock_key, CASE WHEN ` + unused + ` THEN 1 ELSE 0 END
FROM {lock} WHERE lock_key > :from ORDER BY lock_key LIMIT ` + strconv.Itoa(sweepPage)),
		delKey:   one(`DELETE FROM {lock} WHERE lock_key = :key AND busy = 0 AND ` + unused),
		takeTurn: one(`UPDATE {lock} SET since = {now} WHERE lock_key = '' AND since < {now} - :interval{commits}`),
		version:  one(`SELECT token, prior_token FROM {lock} WHERE lock_key = ''`),
		mark:     one(`UPDATE {lock} SET prior_token = :token WHERE lock_key = ''`),
		left: one(`SELECT (SELECT count(*) FROM {lock} WHERE lock_key = :key) + (SELECT count(*) FROM {member} WHERE lock_key = :key) +
  (SELECT count(*) FROM {guard} WHERE lock_key = :key)`),
	}
}
