package zklock

import (
	"context"
	"time"
)

// Blockers returns the names because of which the one at i waits, among children
// with the names.
func Blockers(names []string, i int) ([]string, error) {
	l, err := parseLine(names)
	if err != nil {
		return nil, err
	}
	var blockers []string
	for _, n := range l.blockers(i) {
		blockers = append(blockers, n.name)
	}
	return blockers, nil
}

// Order returns the names of those in line, in order, and how many hold the key.
func Order(names []string) (order []string, holders int, err error) {
	l, err := parseLine(names)
	for _, n := range l {
		order = append(order, n.name)
	}
	return order, l.holders(), err
}

// GUID returns the UUID that stands for an owner.
func GUID(owner string) string { return guidOf(owner) }

// Tokens returns the block that a transaction ID stands for.
func Tokens(zxid int64, n int) (first, last uint64, err error) { return tokens(zxid, n) }

// MaxLease returns the longest lease of a session.
func MaxLease(timeout time.Duration) time.Duration {
	return (&session{timeout: timeout}).maxLease()
}

// Answer returns what comes of a call whose answer is there when ctx has ended.
func Answer(ctx context.Context, answer int) (int, error) {
	p := &pending[int]{done: make(chan struct{}), value: answer}
	close(p.done)
	return p.wait(ctx)
}

// Sniff returns what is learnt from what a server says.
func Sniff(chunks ...[]byte) (id int64, timeout time.Duration, born map[string]int64) {
	s := &sniffer{births: new(births)}
	for _, c := range chunks {
		s.follow(c)
	}
	id, timeout = s.session()
	return id, timeout, s.births.byPath
}
