package zklock

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/driver"
)

// A lock's nodes have Curator's names: _c_, a UUID that says whose it is, a dash,
// a tag that says what is asked for, and the number that the server appends.
const (
	prefix   = "_c_"
	tagLock  = "lock-"    // InterProcessMutex
	tagRead  = "__READ__" // InterProcessReadWriteLock
	tagWrite = "__WRIT__" // the same
	tagPart  = "__PERMIT" // one of so many permits, as in __PERMIT3__; Curator has nothing like it
	tagEnd   = "__"       // of tagPart
	uuidLen  = len("9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11")
	maxNodes = 1<<31 - 1 // what the server's counter can count to
)

// errOverflow: the counter has 31 bits, and goes on below zero. The order of the
// names is lost then.
var errOverflow = errors.New("zklock: the sequence numbers of the key's node are used up; delete it when nobody uses the key")

// kind is what a node asks for.
type kind struct {
	tag     string
	shared  bool
	permits int // 0: it is none
}

func (o *options) kindOf(mode driver.Mode, permits int) kind {
	switch {
	case permits > 0:
		return kind{tag: tagPart + strconv.Itoa(permits) + tagEnd, permits: permits}
	case mode == driver.Shared:
		return kind{tag: tagRead, shared: true}
	default:
		return kind{tag: o.exclusive}
	}
}

// node is one in a line, as its name tells.
type node struct {
	name string
	guid string // "" if there is none in the name
	kind kind
	seq  int64
}

// nodePrefix is the name of a node without its number.
func nodePrefix(guid string, k kind) string { return prefix + guid + "-" + k.tag }

// guidOf returns the UUID that represents an owner in the names of nodes: the UUID that
// the owner begins with, otherwise a UUID derived from the owner. The result is always
// the same, so an owner's node can be found after the reply to its creation was lost.
func guidOf(owner string) string {
	id := owner
	if driver.HolderOf(owner) != "" {
		id = owner[:uuidLen]
	}
	if u, err := uuid.Parse(id); err == nil && u.String() == id {
		return id
	}
	return uuid.NewSHA1(uuid.Nil, []byte("distlock:"+owner)).String()
}

// parseNode reads a name. It returns false for nodes that are no part of a line.
func parseNode(name string) (node, bool) {
	n := node{name: name}
	rest := name
	if end := len(prefix) + uuidLen; len(name) > end && strings.HasPrefix(name, prefix) && name[end] == '-' {
		n.guid, rest = name[len(prefix):end], name[end:]
	}
	var number string
	if i := strings.LastIndex(rest, tagPart); i >= 0 {
		text, after, ok := strings.Cut(rest[i+len(tagPart):], tagEnd)
		permits, err := strconv.Atoi(text)
		if !ok || err != nil || permits < 1 {
			return node{}, false
		}
		n.kind, number = kind{tag: tagPart + text + tagEnd, permits: permits}, after
	} else {
		for _, k := range []kind{{tag: tagLock}, {tag: tagRead, shared: true}, {tag: tagWrite}} {
			if i := strings.LastIndex(rest, k.tag); i >= 0 {
				n.kind, number = k, rest[i+len(k.tag):]
			}
		}
	}
	if len(number) < 10 {
		return node{}, false
	}
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return node{}, false
	}
	n.seq = seq
	return n, true
}

// line is the nodes of a key, in their order.
type line []node

// parseLine sorts out the children of a key's node.
func parseLine(names []string) (line, error) {
	l := make(line, 0, len(names))
	for _, name := range names {
		n, ok := parseNode(name)
		if !ok {
			continue
		}
		if n.seq < 0 || n.seq >= maxNodes {
			return nil, fmt.Errorf("%w: %q", errOverflow, name)
		}
		l = append(l, n)
	}
	slices.SortFunc(l, func(a, b node) int { return cmp.Or(cmp.Compare(a.seq, b.seq), strings.Compare(a.name, b.name)) })
	return l, nil
}

func (l line) find(name string) int {
	return slices.IndexFunc(l, func(n node) bool { return n.name == name })
}

// blockers returns the nodes because of which the one at i has to wait: as long as
// all of them are there, it cannot have its turn. There is none if it has it.
//
// An exclusive one waits for its predecessor. A reader waits for the nearest
// earlier one that is no reader. One that asks for a permit waits for the nearest
// earlier one that asks for something else; if there is none, it has its turn when
// there are fewer before it than there are permits, so that one of the so many
// before it has to go.
func (l line) blockers(i int) []node {
	k := l[i].kind
	if k.shared || k.permits > 0 {
		for j := i - 1; j >= 0; j-- {
			if l[j].kind.shared != k.shared || l[j].kind.permits > 0 != (k.permits > 0) {
				return l[j : j+1]
			}
		}
		if k.shared || i < k.permits {
			return nil
		}
		return l[i-k.permits : i]
	}
	return l[max(i-1, 0):i]
}

// holders returns how many at the head of the line have the key.
func (l line) holders() int {
	n := 0
	for n < len(l) && len(l.blockers(n)) == 0 {
		n++
	}
	return n
}
