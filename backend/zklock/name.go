package zklock

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/driver"
)

// The nodes of locks have Curator's names: _c_, the UUID of the owner, a dash, a tag
// that says what is asked for, and the number that the server appends. Before the tag,
// the nodes of this package have a mark. Curator reads only what is behind the tag.
const (
	prefix    = "_c_"
	mark      = "go-"
	tagLock   = "lock-"     // InterProcessMutex, LeaderSelector
	tagRead   = "__READ__"  // InterProcessReadWriteLock
	tagWrite  = "__WRIT__"  // InterProcessReadWriteLock
	tagLatch  = "latch-"    // LeaderLatch
	tagKazoo  = "__lock__"  // kazoo's Lock and WriteLock
	tagKazooR = "__rlock__" // kazoo's ReadLock
	tagPlain  = "lock"      // a name that begins with this, of a program without a recipe's names
	tagPermit = "__PERMIT"  // a permit of three, as in __PERMIT3__; Curator has no such name
	tagEnd    = "__"        // the end of tagPermit
	uuidLen   = len("9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11")
	numberLen = 10 // the server pads the number with zeros to this length
)

// plainName matches names that begin with tagPlain and are none of Curator's recipes.
var plainName = regexp.MustCompile(`^lock([^-].*|-.*\D)?\d{10}$`)

// kind is what a node asks for.
type kind struct {
	tag     string
	sharing driver.Sharing
}

// node is a node in the queue of a key, as its name describes it.
type node struct {
	name string
	guid string // "" if the name has none
	ours bool   // it has the mark
	kind kind
	seq  int64
}

// Sharing returns what the owner of the node asks for.
func (n node) Sharing() driver.Sharing { return n.kind.sharing }

// nodePrefix returns the name of a node without its number.
func nodePrefix(guid string, k kind) string { return prefix + guid + "-" + mark + k.tag }

// parseNode parses a name. It returns false if a node with this name is not in the queue.
func parseNode(name string) (node, bool) {
	n := node{name: name}
	rest := name
	if end := len(prefix) + uuidLen; len(name) > end && strings.HasPrefix(name, prefix) && name[end] == '-' {
		n.guid, rest = name[len(prefix):end], name[end:]
		n.ours = strings.HasPrefix(rest, "-"+mark)
	}
	var number string
	if i := strings.LastIndex(rest, tagPermit); i >= 0 {
		text, after, ok := strings.Cut(rest[i+len(tagPermit):], tagEnd)
		permits, err := strconv.Atoi(text)
		if !ok || err != nil || permits < 1 {
			return node{}, false
		}
		n.kind, number = kind{tagPermit + text + tagEnd, driver.Sharing{Permits: permits}}, after
	} else {
		shared := driver.Sharing{Mode: driver.Shared}
		for _, k := range []kind{{tag: tagLock}, {tagRead, shared}, {tag: tagWrite}, {tag: tagLatch}, {tag: tagKazoo}, {tagKazooR, shared}} {
			if i := strings.LastIndex(rest, k.tag); i >= 0 {
				n.kind, number = k, rest[i+len(k.tag):]
			}
		}
		if plainName.MatchString(name) {
			n.kind, number = kind{tag: tagPlain}, name[len(name)-numberLen:]
		}
	}
	if len(number) < numberLen {
		return node{}, false
	}
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return node{}, false
	}
	n.seq = seq
	return n, true
}

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

// ownerOf is the inverse of guidOf for the owners of a Locker: it returns the owner with
// this UUID and this name of its holder.
func ownerOf(guid, name string) string {
	if name == "" {
		return guid
	}
	return guid + "@" + name
}

// maxHolderName bounds the name of a holder that another program has written.
const maxHolderName = 64

// revokeMessage is the data of a node if its owner is asked to give the key back. Curator's
// Revoker writes it, and its recipes compare all of the data with it. In a node of this
// package the name of the holder follows if this package has written it.
const revokeMessage = "__REVOKE__"

// holderName returns the name of the holder in the data of a node, or "" if the data is
// not a name: other programs in the same queue may write anything. Curator writes the
// client's address by default.
func holderName(data []byte) string {
	data = bytes.TrimPrefix(data, []byte(revokeMessage))
	if len(data) > maxHolderName {
		return ""
	}
	for _, c := range data {
		if c <= ' ' || c > '~' {
			return ""
		}
	}
	return string(data)
}
