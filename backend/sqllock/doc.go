// Package sqllock is a lock backend on an SQL database: PostgreSQL, MySQL or MariaDB,
// or SQLite. It uses database/sql and links no driver: the program does.
//
//	db, err := sql.Open("pgx", "postgres://shop@db/shop")
//	if err != nil {
//		return err
//	}
//	err = sqllock.CreateTable(ctx, db, sqllock.Postgres, sqllock.DefaultTable)
//	if err != nil {
//		return err
//	}
//	backend, err := sqllock.New(db, sqllock.Postgres, sqllock.Config{})
//	if err != nil {
//		return err
//	}
//	locker := distlock.New(backend, distlock.Config{})
//	defer locker.Close()
//
// A key is a row with its holder, the end of the lease and the last fencing token. To
// acquire, renew or release a key is one statement. Sharing, waiting, and taking over a
// lease that has ended are short transactions that lock the row first.
//
// # Guarantees
//
// All times are read from the database's clock when a statement runs, so the clocks of
// the programs do not matter. Tokens come from the row, and are never less than the
// microseconds since 1970. So they rise as long as the row is not lost at the same time
// as the clock is set back. [Backend.Guard] puts a lock and the data in one
// transaction: a holder that was stopped in front of its write, for however long,
// cannot write.
//
// A lock is as safe as a commit of the database. If the database may forget commits,
// two owners may have a key at the same time: after a failover to a standby that had
// not received the last ones, with synchronous_commit=off, fsync=off or an UNLOGGED
// table in PostgreSQL, with innodb_flush_log_at_trx_commit other than 1 in MySQL, or
// with synchronous=OFF in SQLite (NORMAL in WAL mode may lose them when the machine
// loses power). With a synchronous standby no lock is lost. In PostgreSQL the release
// of a key that nobody waits for does not wait for the disk, whatever the setting: if
// it is lost, the next owner waits for the end of the lease. The tables belong on the
// primary: a standby is refused.
//
// # Why not advisory locks
//
// An advisory lock belongs to a session: if the connection is lost, the database gives
// the lock away while the holder still runs. It takes a connection, and has no fencing
// token. No call of this package depends on what a session did before, so a pooler such
// as PgBouncer in transaction mode does no harm. Set default_query_exec_mode=exec there
// with pgx, and binary_parameters=yes with lib/pq: otherwise parameters follow their
// statement alone, and may meet the statement of another program.
//
// # Waiting
//
// Waiters are rows, first come, first served. The first one looks at the key every few
// hundredths of a second, after a long wait every fifth, and the others less often. A
// release in the same process wakes the next waiter. On PostgreSQL,
// [Config].Listener lets a release in one process wake the next waiter in another, and
// waiters then look seldom. A free key is kept for 0.6 s for waiters that do not look,
// because their process was killed, and only once for each of them. Their places are
// deleted after a minute.
//
// # SQLite
//
// SQLite has one writer at a time. A transaction of the application that writes for
// longer than a lease keeps the locks in the same file from being renewed: keep such
// transactions short, or the locks in a file of their own. Set journal_mode=WAL and a
// busy_timeout. A database in memory must have a limit of one connection. Do not delete or
// replace the file while programs use it: in WAL mode they go on with the old one.
package sqllock
