package interop_test

import (
	"cmp"
	"strings"
	"testing"
	"time"
)

// pair is a lock of a Java library and one of ours that may have the same record.
type pair struct {
	theirs         string              // in the table
	java, ours     string              // kinds of locks
	javaKey, goKey func(string) string // the key for a name; nil: the name

	goSees    string // what ours answers while theirs is held; "false" if empty
	javaSees  string // what theirs answers while ours is held; "false" if empty
	goWakes   wake   // what wakes our waiter
	javaWakes wake   // what wakes theirs
}

// labels are the names of our kinds of locks in the tables.
var labels = map[string]string{
	"redislock.lock":    "`redislock`",
	"redislock.free":    "`redislock`, `FreeRelease`",
	"redislock.shared":  "`redislock`, `Shared`",
	"redissonlock.lock": "`redissonlock`",
	"zklock.lock":       "`zklock`",
	"zklock.shared":     "`zklock`, `Shared`",
	"zklock.permits":    "`zklock`, `Permits`",
	"zklock.write":      "`zklock`, `ReadWriteNames`",
	"zklock.read":       "`zklock`, `ReadWriteNames`, `Shared`",
}

// wake is what ends a wait.
type wake string

const (
	message wake = "message" // of the release
	polling wake = "polling"
	expiry  wake = "the end of the lease"
	asleep  wake = "asleep" // until the end of its wait
	nothing wake = ""       // there is no wait
)

// evicts is the answer of a lock that does not see the other, and whose holder makes the
// holder of the other lose it at the next renewal.
const evicts = "evicts"

// long is an interval between two attempts, and a lease, in milliseconds: a waiter that
// has the lock sooner was woken.
const long = 60_000

// soon limits the wait of a waiter that was woken, on a slow and busy machine.
const soon = long / 3 * time.Millisecond

// meet lets one side hold the lock while the other tries to get it and waits for it, in
// both directions. It returns the row of the table. name is the name of the lock.
func (p pair) meet(t *testing.T, name string, javaSide, goSide *peer) row {
	t.Helper()
	j, g := p.javaSide(javaSide, name+"-theirs"), p.goSide(goSide, name+"-theirs")
	handOver(t, j, g, cmp.Or(p.goSees, "false"), p.goWakes)
	j, g = p.javaSide(javaSide, name+"-ours"), p.goSide(goSide, name+"-ours")
	handOver(t, g, j, cmp.Or(p.javaSees, "false"), p.javaWakes)
	return row{p.theirs, labels[p.ours], sees(p.goSees), p.goWakes.cell(), sees(p.javaSees), p.javaWakes.cell()}
}

// side is one side of a pair.
type side struct {
	*peer

	thread, kind, key string
}

func (p pair) javaSide(process *peer, name string) side {
	key := name
	if p.javaKey != nil {
		key = p.javaKey(name)
	}
	return side{process, p.java + "-" + name, p.java, key}
}

func (p pair) goSide(process *peer, name string) side {
	key := name
	if p.goKey != nil {
		key = p.goKey(name)
	}
	return side{process, p.ours + "-" + name, p.ours, key}
}

// handOver lets from hold the lock while to tries to get it, and, unless how is nothing,
// waits for it.
func handOver(t *testing.T, from, to side, sees string, how wake) {
	t.Helper()
	lease, interval := long, 0 // the default
	switch how {
	case expiry:
		lease = 3000
	case message:
		interval = long
	}
	from.must(t, "true", from.thread, from.kind, "try", from.key, lease)
	if sees == evicts {
		to.must(t, "true", to.thread, to.kind, "try", to.key, long)
		from.must(t, "!lost", from.thread, from.kind, "lost", from.key, long)
		from.must(t, "!lost", from.thread, from.kind, "unlock", from.key)
		to.unlock(t)
		return
	}
	to.must(t, sees, to.thread, to.kind, "try", to.key, long)
	if sees == "true" {
		to.unlock(t)
	}
	if how == nothing {
		from.unlock(t)
		return
	}
	if how == asleep {
		sleepsThrough(t, from, to)
		return
	}
	waiter := to.waiting(t, 2*long, interval)
	released := time.Now()
	from.unlock(t)
	waiter.must(t, "true")
	took := waiter.at.Sub(released)
	if how == message && took > soon {
		t.Errorf("%s: woken %v after the release", waiter.text, took)
	}
	to.unlock(t)
}

// sleepsThrough lets to wait for the lock that from holds, until it is seen that the
// release does not wake it. An attempt of a waiter that has just begun may come behind the
// release.
func sleepsThrough(t *testing.T, from, to side) {
	t.Helper()
	const wait = 2000 // ms
	var took time.Duration
	for range 5 {
		begun := time.Now()
		waiter := to.waiting(t, wait, 0)
		from.unlock(t)
		if waiter.wait(t) == "true" { // the attempt at the end of the wait
			to.unlock(t)
		}
		if took = waiter.at.Sub(begun); took >= wait*time.Millisecond {
			return
		}
		from.must(t, "true", from.thread, from.kind, "try", from.key, long)
	}
	from.unlock(t)
	t.Errorf("%s: woken after %v", to.kind, took)
}

// waiting starts a wait, and leaves it some time to begin.
func (s side) waiting(t *testing.T, wait, interval int) *call {
	t.Helper()
	waiter := s.start(s.thread, s.kind, "wait", s.key, wait, long, interval)
	select {
	case <-waiter.done:
		t.Fatalf("%s: does not wait: %s", waiter.text, waiter.result)
	case <-time.After(300 * time.Millisecond):
	}
	return waiter
}

func (s side) unlock(t *testing.T) {
	t.Helper()
	s.must(t, "done", s.thread, s.kind, "unlock", s.key)
}

// sees returns the cell for the answer of an attempt.
func sees(answer string) string {
	switch answer {
	case "", "false":
		return "held"
	case "true":
		return "free"
	case evicts:
		return "free; then ours is lost"
	case foreign:
		return "`ErrForeign`"
	}
	return "throws `" + answer[strings.LastIndex(answer, ".")+1:] + "`"
}

// cell returns the cell for a wait that this ended.
func (w wake) cell() string {
	switch w {
	case nothing:
		return "–"
	case asleep:
		return "nothing: it sleeps to the end of its wait"
	}
	return string(w)
}
