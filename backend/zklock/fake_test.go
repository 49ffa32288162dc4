package zklock_test

import (
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kinds of requests, for [fakeServer.On].
const (
	opConnect     = 0 // the first request on a connection
	opCreate      = 1
	opDelete      = 2
	opExists      = 3
	opGetData     = 4
	opSetData     = 5
	opSync        = 9
	opPing        = 11
	opGetChildren = 12
	opContainer   = 19
	opMulti       = 14
	opSetAuth     = 100
	opSetWatches  = 101
	opClose       = -11
)

// fate is what a [fakeServer] does with a request.
type fate int

// Fates.
const (
	served    fate = iota
	dropped        // it is not executed, and there is no answer
	muted          // it is executed, and there is no answer
	postponed      // it is executed before the next opSync, and there is no answer
	hungUp         // the connection is closed
	denied         // the client lacks the permission
)

const (
	codeNoNode     = -101
	codeNoAuth     = -102
	codeBadVersion = -103
	codeBarren     = -108
	codeExists     = -110
)

// fakeServer is a ZooKeeper server in the memory of a test, for bubbles of
// testing/synctest: its sessions end in virtual time. It has what a lock needs, and no
// ACLs. The zero value is ready to use. A network of package spoilnet can be between it
// and its clients.
type fakeServer struct {
	mu       sync.Mutex
	decide   map[int32]func(path string) fate // by kind of request
	zxid     int64
	last     int64 // the ID of the session that began last
	sessions map[int64]*time.Timer
	owners   map[int64]*fakeConn // of the sessions: a request on an earlier connection is refused
	nodes    map[string]*fakeNode
	deferred []func()
	created  []string
	acls     map[string]string // the schemes
	watches  map[string][]*fakeConn
	conns    []net.Conn
}

type fakeNode struct {
	data                       []byte
	czxid, mzxid, pzxid, owner int64
	ctime, mtime               time.Time
	version, sequence          int32
	children                   int32
}

// On lets decide choose the fate of each request of a kind from now on, by the path of
// the node or the credentials of opSetAuth. The function may block: the connection then
// waits.
func (v *fakeServer) On(op int32, decide func(path string) fate) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.decide == nil {
		v.decide = make(map[int32]func(path string) fate)
	}
	v.decide[op] = decide
}

// ServeAll ends what On has begun.
func (v *fakeServer) ServeAll() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.decide = nil
}

// Dial opens a connection to the server, for spoilnet.To.
func (v *fakeServer) Dial() (net.Conn, error) {
	client, server := net.Pipe()
	c := &fakeConn{v: v, conn: server, wake: make(chan struct{}, 1), closed: make(chan struct{})}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.conns = append(v.conns, server)
	go c.write()
	go c.read()
	return client, nil
}

// Kill closes all connections, also those on which a write is blocked.
func (v *fakeServer) Kill() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.conns {
		_ = c.Close() // it may be closed already
	}
	v.conns = nil
}

// Expire ends all sessions. Their clients learn it when they connect again. If keep is
// true, their nodes stay, as a server shows them that lags behind.
func (v *fakeServer) Expire(keep bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id := range maps.Clone(v.sessions) {
		v.expire(id, keep)
	}
}

// Steal replaces a node by one of another session with the same name.
func (v *fakeServer) Steal(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.nodes[path].owner = -1 // no session has this ID
}

// Add creates a node of another program with a number, ephemeral in a session that does
// not end.
func (v *fakeServer) Add(prefix string) (path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	created, code := v.create(&fakeConn{session: 1 << 50}, prefix, nil, 3)
	if code != 0 {
		panic(fmt.Sprintf("creating %s: %d", prefix, code))
	}
	v.acls[created.text()] = "" // it is none of ours
	return v.created[len(v.created)-1]
}

// Delete deletes a node, as an operator does.
func (v *fakeServer) Delete(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.remove(path)
}

// Write replaces the data of a node, as another program does.
func (v *fakeServer) Write(path, data string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.nodes[path].data = []byte(data)
}

// ACLs returns the schemes of the access control lists with which nodes were created,
// by path.
func (v *fakeServer) ACLs() map[string]string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.acls)
}

// Watched reports whether a client watches a node.
func (v *fakeServer) Watched(path string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.watches[path]) > 0
}

// Created returns the paths of all nodes that were ever created below a path.
func (v *fakeServer) Created(below string) (paths []string) {
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
func (v *fakeServer) Children(of string) (paths []string) {
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
func (v *fakeServer) expire(id int64, keep bool) {
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

func (v *fakeServer) remove(p string) {
	v.zxid++
	delete(v.nodes, p)
	if parent := v.nodes[path.Dir(p)]; parent != nil {
		parent.children, parent.pzxid = parent.children-1, v.zxid
	}
	v.fire(p, 2)
}

// fire sends an event to all clients that watch a node.
func (v *fakeServer) fire(p string, event int32) {
	for _, c := range v.watches[p] {
		c.send(packet{}.with32(-1).with64(-1).with32(0).with32(event).with32(3).withBytes([]byte(p)))
	}
	delete(v.watches, p)
}

// connect returns the session of a client that had a session with this ID, or 0.
func (v *fakeServer) connect(c *fakeConn, id int64, timeout time.Duration) int64 {
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
		v.sessions, v.nodes, v.watches = map[int64]*time.Timer{}, map[string]*fakeNode{"/": {}}, map[string][]*fakeConn{}
		v.owners, v.acls = map[int64]*fakeConn{}, map[string]string{}
	}
	v.owners[id] = c
	v.sessions[id] = time.AfterFunc(timeout, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.sessions[id] != nil {
			v.expire(id, false)
		}
	})
	return id
}

func (v *fakeServer) on(op int32, name string) fate {
	v.mu.Lock()
	decide := v.decide[op]
	v.mu.Unlock()
	if decide == nil {
		return served
	}
	return decide(name)
}

// execute executes a request, and returns the answer.
func (v *fakeServer) execute(c *fakeConn, op int32, p packet) (body packet, code int32) {
	switch op {
	case opPing, opSetAuth, opClose:
		return nil, 0
	case opSetWatches:
		seen := p.int64()
		for range 2 {
			for _, name := range p.texts() {
				v.watches[name] = append(v.watches[name], c)
				if n := v.nodes[name]; n == nil {
					v.fire(name, 2)
				} else if n.mzxid > seen {
					v.fire(name, 3)
				}
			}
		}
		return nil, 0
	}
	if op == opMulti {
		return v.multi(c, p)
	}
	name := p.text()
	n := v.nodes[name]
	switch {
	case op == opSync:
		return packet{}.withBytes([]byte(name)), 0
	case op == opCreate || op == opContainer && name != "/distlock": // which stays
		data := p.bytes()
		acl := ""
		for range p.int32() {
			_, scheme, _ := p.int32(), p.text(), p.text()
			acl += scheme
		}
		body, code := v.create(c, name, data, p.int32())
		if created := slices.Clone(body); code == 0 {
			v.acls[created.text()] = acl
		}
		return body, code
	case n == nil:
		return nil, codeNoNode
	case op == opDelete:
		v.remove(name)
		return nil, 0
	case op == opSetData:
		data, version := p.bytes(), p.int32()
		if version >= 0 && version != n.version {
			return nil, codeBadVersion
		}
		v.zxid++
		n.data, n.mzxid, n.mtime = data, v.zxid, time.Now()
		n.version++
		v.fire(name, 3)
		return n.stat(), 0
	}
	if p.bool() {
		v.watches[name] = append(v.watches[name], c)
	}
	switch op {
	case opExists:
		return n.stat(), 0
	case opGetData:
		return append(packet{}.withBytes(n.data), n.stat()...), 0
	case opGetChildren:
		var names packet
		count := int32(0)
		for child := range v.nodes {
			if child != "/" && path.Dir(child) == name {
				names, count = names.withBytes([]byte(path.Base(child))), count+1
			}
		}
		return slices.Concat(packet{}.with32(count), names, n.stat()), 0
	default:
		panic(fmt.Sprintf("a request of kind %d", op))
	}
}

// multi executes a deletion, and if that is possible a creation.
func (v *fakeServer) multi(c *fakeConn, p packet) (body packet, code int32) {
	header := func(op, err int32) packet {
		done := byte(0)
		if op < 0 {
			done = 1
		}
		return append(packet{}.with32(op), done).with32(err)
	}
	next := func() int32 {
		op := p.int32()
		p.take(5)
		return op
	}
	_, deletes, _ := next(), p.text(), p.int32()
	if v.nodes[deletes] == nil {
		return slices.Concat(header(-1, codeNoNode).with32(codeNoNode), header(-1, -1)), codeNoNode
	}
	v.remove(deletes)
	op := next()
	created, code := v.execute(c, op, p)
	return slices.Concat(header(opDelete, 0), header(opCreate, code), created, header(-1, -1)), code
}

func (v *fakeServer) create(c *fakeConn, name string, data []byte, flags int32) (body packet, code int32) {
	parent := v.nodes[path.Dir(name)]
	if parent == nil {
		return nil, codeNoNode
	}
	if parent.owner != 0 {
		return nil, codeBarren
	}
	if flags&2 != 0 && flags < 4 { // sequential
		name += fmt.Sprintf("%010d", parent.sequence)
	}
	if v.nodes[name] != nil {
		return nil, codeExists
	}
	v.zxid++
	n := &fakeNode{data: data, czxid: v.zxid, mzxid: v.zxid, ctime: time.Now(), mtime: time.Now()}
	if flags&1 != 0 {
		n.owner = c.session
	}
	parent.sequence++
	parent.children, parent.pzxid = parent.children+1, v.zxid
	v.nodes[name] = n
	v.created = append(v.created, name)
	return packet{}.withBytes([]byte(name)), 0
}

func (n *fakeNode) stat() packet {
	return packet{}.with64(n.czxid).with64(n.mzxid).with64(n.ctime.UnixMilli()).with64(n.mtime.UnixMilli()).with32(n.version).with32(n.sequence).with32(0).
		with64(n.owner).with32(int32(len(n.data))).with32(n.children).with64(n.pzxid)
}
