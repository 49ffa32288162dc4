package sqllock

import (
	"strconv"
	"strings"
)

// mostRenewals is how many grants one statement renews.
const mostRenewals = 64

// renewTemplates returns the templates for n grants in a table: one that renews and
// returns what it has renewed, or in MySQL one that renews and one that returns what is
// running, and an empty key if autocommit is off. The parameter kept is 1, so that a
// renewal that is late shortens no lease, or 0 for the last one of an owner, which may.
func renewTemplates(d Dialect, name string, n int) (renew, read string) {
	rows := func(row, separator string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(row, "#", strconv.Itoa(i))
		}
		return strings.Join(all, separator)
	}
	update := "UPDATE " + name + " AS l "
	const renewal = "SET expires = {max}(l.expires * g.kept, {now} + g.ttl)"
	const running = "l.lock_key = g.k AND l.owner = g.o AND l.token > 0 AND l.expires > {now}"
	switch d {
	case Postgres:
		return update + renewal + " FROM (VALUES " + rows("(:key#, :owner#, :ttl#, :kept#)", ", ") + ") AS g (k, o, ttl, kept) " +
			"WHERE " + running + " RETURNING lock_key, owner", ""
	case SQLite:
		return update + renewal + " FROM (SELECT column1 AS k, column2 AS o, column3 AS ttl, column4 AS kept " +
			"FROM (VALUES " + rows("(:key#, :owner#, :ttl#, :kept#)", ", ") + ")) AS g " +
			"WHERE " + running + " RETURNING lock_key, owner", ""
	default:
		return update + "JOIN (" + rows("SELECT :key# AS k, :owner# AS o, :ttl# AS ttl, :kept# AS kept", " UNION ALL ") + ") AS g " +
				"ON " + running + " " + renewal + " WHERE @@autocommit = 1",
			"SELECT lock_key, owner FROM " + name + " WHERE (lock_key, owner) IN (" + rows("(:key#, :owner#)", ", ") + ") " +
				"AND token > 0 AND expires > {now} UNION ALL SELECT '', '' FROM DUAL WHERE @@autocommit = 0"
	}
}
