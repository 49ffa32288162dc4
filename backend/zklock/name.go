package zklock

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// The nodes of locks have Curator's names: _c_, the UUID of the owner, a dash, a tag
// that says what is asked for, and the number that the server appends. Before the tag,
// the nodes of this package have a mark. Curator reads only what is behind the tag.
const (
	prefix    = "_c_"
	mark      = "go-"
	markKept  = "kept-"     // after mark, in the name of a node that does not end with a session
	tagLock   = "lock-"     // InterProcessMutex, LeaderSelector
	tagRead   = "__READ__"  // InterProcessReadWriteLock
	tagWrite  = "__WRIT__"  // InterProcessReadWriteLock
	tagKazoo  = "__lock__"  // kazoo's Lock and WriteLock
	tagKazooR = "__rlock__" // kazoo's ReadLock
	tagPlain  = "lock"      // a name that begins with this, of a program without a recipe's names
	tagPermit = "__PERMIT"  // a permit of three, as in __PERMIT3__; Curator has no such name
	tagEnd    = "__"        // the end of tagPermit
	uuidLen   = len("9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11")
	numberLen = 10 // the server pads the number with zeros to this length
)

var (
	// recipeName matches the names of this package, of Curator's recipes and of
	// kazoo's.
	recipeName = regexp.MustCompile(`^(?:_c_(.{36})-(go-(kept-)?)?)?.*(lock-|__READ__|__WRIT__|__r?lock__|__PERMIT([1-9]\d*)__)(\d{10,}|-\d{9,})$`)

	// plainName matches names that begin with tagPlain and are none of a recipe.
	plainName = regexp.MustCompile(`^lock([^-].*|-.*\D)?\d{10}$`)
)

// tokensPerID is how many fencing tokens one transaction ID yields. Transaction IDs are
// unique and rise over sessions, restarts and leaders.
const tokensPerID = 64

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
	kept bool   // its owner is done
	kind kind
	seq  int64
}

// Sharing returns what the owner of the node asks for.
func (n node) Sharing() driver.Sharing { return n.kind.sharing }

// nodePrefix returns the name of a node without its number.
func nodePrefix(guid string, k kind) string { return prefix + guid + "-" + mark + k.tag }

// parseNode parses a name. It returns false if a node with this name is not in the
// queue.
func parseNode(name string) (n node, ok bool) {
	n = node{name: name, kind: kind{tag: tagPlain}}
	var number string
	if m := recipeName.FindStringSubmatch(name); m != nil {
		n.guid, n.ours, n.kept, n.kind.tag, number = m[1], m[2] != "", m[3] != "", m[4], m[6]
		switch {
		case m[5] != "":
			permits, err := strconv.Atoi(m[5])
			if err != nil {
				return node{}, false
			}
			n.kind.sharing.Permits = permits
		case n.kind.tag == tagRead, n.kind.tag == tagKazooR:
			n.kind.sharing.Mode = driver.Shared
		}
	} else if plainName.MatchString(name) {
		number = name[len(name)-numberLen:]
	}
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return node{}, false
	}
	n.seq = seq
	return n, true
}

// guidOf returns the UUID that represents an owner in the names of nodes. The owner
// begins with it. So an owner's node can be found after the reply to its creation was
// lost.
func guidOf(owner string) string { return owner[:uuidLen] }

// ownerOf is the inverse of guidOf for the owners of a Locker: it returns the owner
// with this UUID and this name of its holder.
func ownerOf(guid, name string) string {
	if name == "" {
		return guid
	}
	return guid + "@" + name
}

// maxHolderName bounds the name of a holder that another program has written.
const maxHolderName = 64

// revokeMessage is the data of a node if its owner is asked to give the key back.
// Curator's Revoker writes it, and its recipes compare all of the data with it. In a
// node of this package the name of the holder follows if this package has written it.
const revokeMessage = "__REVOKE__"

// holderName returns the name of the holder in the data of a node, or "" if the data is
// not a name: other programs in the same queue may write anything. Curator writes the
// client's address by default.
func holderName(data []byte) string {
	data = bytes.TrimPrefix(data, []byte(revokeMessage))
	if _, name, ok := parseKept(data); ok {
		data = name
	}
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

// keptData returns the data of a node that lasts for d.
func keptData(d time.Duration, holder []byte) []byte {
	return fmt.Appendf(nil, "kept=%d %s", d.Milliseconds(), holder)
}

// parseKept is the inverse of keptData. It returns false for other data.
func parseKept(data []byte) (d time.Duration, holder []byte, ok bool) {
	var ms int64
	if _, err := fmt.Sscanf(string(data), "kept=%d", &ms); err != nil {
		return 0, nil, false
	}
	_, holder, ok = bytes.Cut(data, []byte(" "))
	return time.Duration(ms) * time.Millisecond, holder, ok
}

// maxNodes is the largest number that the server's counter of a key's node can reach.
const maxNodes = 1<<31 - 1

// errOverflow: the counter has 31 bits and continues below zero. After that the names
// do not tell the order.
var errOverflow = errors.New("zklock: the sequence numbers of the key's node are used up; delete it while the key is not used")

// queue is the nodes of a key in the order of their numbers.
type queue []node

// parseQueue returns the queue among the children of a key's node.
func parseQueue(names []string) (queue, error) {
	q := make(queue, 0, len(names))
	for _, name := range names {
		n, ok := parseNode(name)
		if !ok {
			continue
		}
		if n.seq < 0 || n.seq >= maxNodes {
			return nil, fmt.Errorf("%w: %q", errOverflow, name)
		}
		q = append(q, n)
	}
	slices.SortFunc(q, func(a, b node) int { return cmp.Or(cmp.Compare(a.seq, b.seq), strings.Compare(a.name, b.name)) })
	return q, nil
}

func (q queue) find(name string) int {
	return slices.IndexFunc(q, func(n node) bool { return n.name == name })
}
