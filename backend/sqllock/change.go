package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/distlock-go/distlock/driver"
)

// change locks the key, lets decide change it, and writes the difference. Afterwards it
// wakes the waiters that may have the key then. The decision must not depend on what it
// was before, because it may be called again. Removes reports whether the decision will
// take the key from its exclusive holder, beside one with a lease that has ended.
//
// If the row of the key does not exist, it is created if create is set.
func (b *Backend) change(ctx context.Context, why purpose, key string, create bool, removes func(*entry) bool, decide func(*entry)) error {
	var next []string
	err := b.transact(ctx, why, func(ctx context.Context, c *sql.Conn) error {
		var err error
		next, err = b.changeIn(ctx, c, key, create, removes, decide)
		return err
	})
	if err == nil {
		b.wakes.wakeOwners(next)
	}
	return err
}

// changeIn is change inside of a transaction. It returns the waiters to wake, which may
// have the key now and could not have it before.
func (b *Backend) changeIn(ctx context.Context, c *sql.Conn, key string, create bool, removes func(*entry) bool, decide func(*entry)) ([]string, error) {
	e, err := b.load(ctx, c, key, create)
	if err != nil {
		return nil, err
	}
	if e.owner != "" && (e.expires <= e.now || removes != nil && removes(e)) {
		free, err := b.lockGuard(ctx, c, e)
		if err != nil {
			return nil, err
		}
		e.frozen = !free
	}
	before := *e
	before.members = slices.Clone(e.members)
	e.prune()
	decide(e)
	if err := b.save(ctx, c, &before, e); err != nil {
		return nil, err
	}
	was := before.admitted()
	next := slices.DeleteFunc(e.admitted(), func(owner string) bool { return slices.Contains(was, owner) })
	if b.config.Listener != nil {
		for _, owner := range next[:min(len(next), mostMessages)] {
			if _, err := b.sql.notify.exec(ctx, c, values{"channel": channel, "message": driver.Fingerprint(owner)}); err != nil {
				return nil, err
			}
		}
	}
	return next, nil
}

// load locks a key and reads it with its members.
func (b *Backend) load(ctx context.Context, c *sql.Conn, key string, create bool) (*entry, error) {
	e := &entry{key: key}
	args := values{"key": key}
	read := func() error { return b.sql.load.row(ctx, c, args).Scan(e.columns()...) }
	err := read()
	if errors.Is(err, sql.ErrNoRows) {
		if !create {
			return e, nil
		}
		if _, err = b.sql.create.exec(ctx, c, args); err == nil {
			err = read()
		}
		if errors.Is(err, sql.ErrNoRows) {
			err = errIgnored // to others the key would be free
		}
	}
	if err != nil || e.busy == 0 {
		return e, err
	}
	return e, b.sql.members.rows(ctx, c, args, func(scan func(...any) error) error {
		var m member
		err := scan(m.columns()...)
		e.members = append(e.members, m)
		return err
	})
}

// columns returns where the columns of the key go.
func (e *entry) columns() []any {
	return []any{&e.owner, &e.prior, &e.token, &e.since, &e.expires, &e.busy, &e.guarded, &e.now}
}

// columns returns where the columns of the member go.
func (m *member) columns() []any {
	return []any{&m.owner, &m.ticket, (*sharing)(&m.sharing), &m.prior, &m.token, &m.since, &m.expires}
}

// sharing is a column: the number of permits, 0 for an exclusive lock, or -1.
type sharing driver.Sharing

const sharedColumn = -1

func (s *sharing) Scan(column any) error {
	var n sql.NullInt64
	err := n.Scan(column)
	if *s = (sharing{Permits: int(n.Int64)}); n.Int64 == sharedColumn {
		*s = sharing{Mode: driver.Shared}
	}
	return err
}

func (s sharing) column() int64 {
	if s.Mode == driver.Shared {
		return sharedColumn
	}
	return int64(s.Permits)
}

// find returns the keys that a statement reads, with their members, as they were at one
// moment. It locks nothing.
func (b *Backend) find(ctx context.Context, why purpose, s *statement, v values) (found []entry, err error) {
	err = b.do(ctx, why, func(ctx context.Context, c *sql.Conn) error {
		found = nil
		if s == b.sql.list { // a former primary answers with what it had
			if err := b.dialect.fits(ctx, c); err != nil {
				return err
			}
		}
		return s.rows(ctx, c, v, func(scan func(...any) error) error { // for each member, or once without a member
			var k entry
			var m member
			var like int // how many members are like this one; 0 if the statement does not count them
			if err := scan(slices.Concat([]any{&k.key}, k.columns(), m.columns(), []any{&like})...); err != nil {
				return err
			}
			if n := len(found); n == 0 || found[n-1].key != k.key {
				found = append(found, k)
			}
			last := &found[len(found)-1]
			switch {
			case m.owner == "":
				return nil
			case m.waits():
				last.waiters = like
			default:
				last.sharers = like
			}
			last.members = append(last.members, m)
			return nil
		})
	})
	return found, err
}

func (b *Backend) peek(ctx context.Context, why purpose, key string) (*entry, error) {
	found, err := b.find(ctx, why, b.sql.peek, values{"key": key})
	if err != nil || len(found) == 0 {
		return &entry{key: key}, err
	}
	return &found[0], nil
}

// save writes what differs between two states of a key.
func (b *Backend) save(ctx context.Context, c *sql.Conn, before, after *entry) error {
	exec := func(s *statement, v values) error {
		v["key"] = after.key
		changed, err := s.exec(ctx, c, v)
		if err == nil && !changed && s != b.sql.close {
			err = errIgnored
		}
		return err
	}
	for i := range before.members {
		if owner := before.members[i].owner; after.find(owner) == nil {
			if err := exec(b.sql.delMember, values{"owner": owner}); err != nil {
				return err
			}
		}
	}
	for i := range after.members {
		m := &after.members[i]
		s, old := b.sql.setMember, before.find(m.owner)
		switch {
		case old == nil:
			s = b.sql.addMember
		case *old == *m:
			continue
		}
		err := exec(s, values{
			"owner": m.owner, "ticket": m.ticket, "sharing": sharing(m.sharing).column(),
			"prior": m.prior, "token": m.token, "since": m.since, "expires": m.expires,
		})
		if err != nil {
			return err
		}
	}
	if before.owner != after.owner && !after.adopted && before.guarded && b.dialect == MySQL {
		if err := exec(b.sql.close, values{"token": before.token}); err != nil {
			return err
		}
	}
	after.busy = int64(len(after.members))
	if before.row == after.row {
		return nil
	}
	return exec(b.sql.setKey, values{
		"owner": after.owner, "prior": after.prior, "token": after.token,
		"since": after.since, "expires": after.expires, "busy": after.busy,
	})
}

// lockGuard reports whether no transaction is guarded with the lease of the key's
// exclusive holder. Then there can be none until the transaction has ended.
func (b *Backend) lockGuard(ctx context.Context, c *sql.Conn, e *entry) (bool, error) {
	if !e.guarded {
		return true, nil
	}
	var mark int64
	err := b.sql.remove.row(ctx, c, values{"key": e.key}).Scan(&mark)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
