package redislock

import (
	"sync"
	"time"

	"github.com/distlock-go/distlock/backend/internal/luascript"
)

// op is one operation: what a script has to do for one lock, and the answer.
type op struct {
	script *luascript.Script
	keys   [3]string
	owner  string

	// For acquire.lua.
	ttl  int64 // milliseconds
	mode string

	inDoubt string // for release.lua: a flag
	share   string // for both: see share

	idempotent bool // it may be sent twice

	state state // guarded by the mutex of the batcher

	events       chan event
	answer       answer
	outcomeKnown bool // every request so far was answered
	retained     bool // it must not be reused: it may still be read
	force        bool // it does not wait for abandoned operations any more
}

// answer is the result of an op.
type answer struct {
	line         string    // the reply of the script
	err          error     // if there is no reply
	sent         time.Time // the time just before it was sent; zero if it was not sent
	outcomeKnown bool      // every request was answered: none is on its way

	confirmed int // by this number of replicas, if they were asked
}

// The modes of an acquisition. A release has none.
const (
	modeTry     = "try"
	modeEnqueue = "enqueue"
	modeExtend  = "extend"
)

// state is the state of an op.
type state int

const (
	stateQueued state = iota
	stateRunner       // queued, and its caller was told to send what is queued
	stateSent
	stateDone
	stateAbandoned // its caller has left
)

// event is what the caller of an op waits for.
type event int

const (
	eventDone  event = iota // the answer is there
	eventRun                // send what is queued
	eventForce              // do not wait for abandoned operations any more
)

// appendArgs appends the arguments of the script for o. They are pointers, because to put
// a string into an interface allocates.
func (o *op) appendArgs(args []any) []any {
	args = append(args, &o.owner)
	if o.script == acquireScript {
		return append(args, &o.ttl, &o.mode, &o.share)
	}
	return append(args, &o.inDoubt, &o.share)
}

// opPool keeps operations for reuse: each has a channel.
type opPool struct{ pool sync.Pool }

func (p *opPool) get() *op {
	if o, ok := p.pool.Get().(*op); ok {
		return o
	}
	return &op{events: make(chan event, 1)}
}

// put takes back an op that only its caller refers to.
func (p *opPool) put(o *op) {
	*o = op{events: o.events}
	p.pool.Put(o)
}
