package zktest

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kinds of requests, for [Virtual.On].
const (
	OpConnect     = 0 // the first request on a connection
	OpCreate      = 1
	OpDelete      = 2
	OpExists      = 3
	OpGetData     = 4
	OpSetData     = 5
	OpSync        = 9
	OpPing        = 11
	OpGetChildren = 12
	opContainer   = 19
	OpSetAuth     = 100
	opSetWatches  = 101
	opClose       = -11
)

// Fate is what a [Virtual] does with a request.
type Fate int

// Fates.
const (
	Serve  Fate = iota
	Drop        // it is not executed, and there is no answer
	Mute        // it is executed, and there is no answer
	Defer       // it is executed before the next OpSync, and there is no answer
	HangUp      // the connection is closed
)

const (
	codeNoNode     = -101
	codeBadVersion = -103
	codeExists     = -110
)

// Virtual is a ZooKeeper server in the memory of a test, for bubbles of testing/synctest:
// its sessions end in virtual time. It has what a lock needs, and no ACLs. The zero value is
// ready to use. A network of package spoilnet can be between it and its clients.
type Virtual struct {
	mu       sync.Mutex
	decide   func(op int32, path string) Fate
	zxid     int64
	last     int64 // the ID of the session that began last
	sessions map[int64]*time.Timer
	nodes    map[string]*virtualNode
	deferred []func()
	created  []string
	watches  map[string][]*virtualConn
	conns    []net.Conn
}

type virtualNode struct {
	data                []byte
	czxid, mzxid, owner int64
	ctime               time.Time
	version, sequence   int32
	children            int32
}

// On lets decide choose the fate of each request from now on; nil serves all. The path is that
// of the node, or the credentials of OpSetAuth. The function may block: the connection then
// waits.
func (v *Virtual) On(decide func(op int32, path string) Fate) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.decide = decide
}

// Dial opens a connection to the server, for spoilnet.To.
func (v *Virtual) Dial() (net.Conn, error) {
	client, server := net.Pipe()
	c := &virtualConn{v: v, conn: server, wake: make(chan struct{}, 1), closed: make(chan struct{})}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.conns = append(v.conns, server)
	go c.write()
	go c.read()
	return client, nil
}

// Kill closes all connections, also those on which a write is blocked.
func (v *Virtual) Kill() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.conns {
		_ = c.Close() // it may be closed already
	}
	v.conns = nil
}

// Expire ends all sessions. Their clients learn it when they connect again. If keep is true,
// their nodes stay, as a server shows them that lags behind.
func (v *Virtual) Expire(keep bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id := range maps.Clone(v.sessions) {
		v.expire(id, keep)
	}
}

// Steal replaces a node by one of another session with the same name.
func (v *Virtual) Steal(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.nodes[path].owner = -1 // no session has this ID
}

// Created returns the paths of all nodes that were ever created below a path.
func (v *Virtual) Created(below string) (paths []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, p := range v.created {
		if strings.HasPrefix(p, below+"/") {
			paths = append(paths, p)
		}
	}
	return paths
}

// Children returns the paths of the nodes below a path.
func (v *Virtual) Children(of string) (paths []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for p := range v.nodes {
		if path.Dir(p) == of {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// expire ends a session, and deletes its nodes unless keep is true.
func (v *Virtual) expire(id int64, keep bool) {
	v.sessions[id].Stop()
	delete(v.sessions, id)
	if keep {
		return
	}
	for p, n := range maps.Clone(v.nodes) {
		if n.owner == id {
			v.remove(p)
		}
	}
}

func (v *Virtual) remove(p string) {
	v.zxid++
	delete(v.nodes, p)
	if parent := v.nodes[path.Dir(p)]; parent != nil {
		parent.children--
	}
	v.fire(p, 2)
}

// fire sends an event to those that watch a node.
func (v *Virtual) fire(p string, event int32) {
	for _, c := range v.watches[p] {
		c.send(packet{}.with32(-1).with64(-1).with32(0).with32(event).with32(3).withBytes([]byte(p)))
	}
	delete(v.watches, p)
}

// connect returns the session of a client that had a session with this ID, or 0.
func (v *Virtual) connect(id int64, timeout time.Duration) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	if id != 0 {
		if t := v.sessions[id]; t == nil || !t.Stop() {
			return 0
		}
	} else {
		v.last++
		id = v.last
	}
	if v.sessions == nil {
		v.sessions, v.nodes, v.watches = map[int64]*time.Timer{}, map[string]*virtualNode{"/": {}}, map[string][]*virtualConn{}
	}
	v.sessions[id] = time.AfterFunc(timeout, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.sessions[id] != nil {
			v.expire(id, false)
		}
	})
	return id
}

func (v *Virtual) on(op int32, name string) Fate {
	v.mu.Lock()
	decide := v.decide
	v.mu.Unlock()
	if decide == nil {
		return Serve
	}
	return decide(op, name)
}

// execute executes a request, and returns the answer.
func (v *Virtual) execute(c *virtualConn, op int32, p packet) (body packet, code int32) {
	switch op {
	case OpPing, OpSetAuth, opClose:
		return nil, 0
	case opSetWatches:
		p.int64()
		for range 2 {
			for _, name := range p.texts() {
				if v.nodes[name] == nil {
					c.send(packet{}.with32(-1).with64(-1).with32(0).with32(2).with32(3).withBytes([]byte(name)))
				} else {
					v.watches[name] = append(v.watches[name], c)
				}
			}
		}
		return nil, 0
	}
	name := p.text()
	n := v.nodes[name]
	switch {
	case op == OpSync:
		return packet{}.withBytes([]byte(name)), 0
	case op == OpCreate || op == opContainer:
		data := p.bytes()
		for range p.int32() { // the ACL
			_, _, _ = p.int32(), p.text(), p.text()
		}
		return v.create(c, name, data, p.int32())
	case n == nil:
		return nil, codeNoNode
	case op == OpDelete:
		v.remove(name)
		return nil, 0
	case op == OpSetData:
		data, version := p.bytes(), p.int32()
		if version >= 0 && version != n.version {
			return nil, codeBadVersion
		}
		v.zxid++
		n.data, n.mzxid = data, v.zxid
		n.version++
		v.fire(name, 3)
		return n.stat(), 0
	}
	if p.bool() {
		v.watches[name] = append(v.watches[name], c)
	}
	switch op {
	case OpExists:
		return n.stat(), 0
	case OpGetData:
		return append(packet{}.withBytes(n.data), n.stat()...), 0
	case OpGetChildren:
		var names packet
		count := int32(0)
		for child := range v.nodes {
			if child != "/" && path.Dir(child) == name {
				names, count = names.withBytes([]byte(path.Base(child))), count+1
			}
		}
		return slices.Concat(packet{}.with32(count), names, n.stat()), 0
	default:
		panic(fmt.Sprintf("zktest: a request of kind %d", op))
	}
}

func (v *Virtual) create(c *virtualConn, name string, data []byte, flags int32) (body packet, code int32) {
	parent := v.nodes[path.Dir(name)]
	if parent == nil {
		return nil, codeNoNode
	}
	if flags&2 != 0 && flags < 4 { // sequential
		name += fmt.Sprintf("%010d", parent.sequence)
	}
	if v.nodes[name] != nil {
		return nil, codeExists
	}
	v.zxid++
	n := &virtualNode{data: data, czxid: v.zxid, mzxid: v.zxid, ctime: time.Now()}
	if flags&1 != 0 {
		n.owner = c.session
	}
	parent.sequence++
	parent.children++
	v.nodes[name] = n
	v.created = append(v.created, name)
	return packet{}.withBytes([]byte(name)), 0
}

func (n *virtualNode) stat() packet {
	ms := n.ctime.UnixMilli()
	return packet{}.with64(n.czxid).with64(n.mzxid).with64(ms).with64(ms).with32(n.version).with32(n.sequence).with32(0).
		with64(n.owner).with32(int32(len(n.data))).with32(n.children).with64(cmp.Or(n.mzxid, n.czxid))
}
