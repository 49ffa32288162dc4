package redislock

import (
	"sync"
	"time"
)

// op is what a script is to do for one lock, and what it answered.
type op struct {
	script *script
	keys   [3]string
	owner  string

	// Of acquire.lua and share.lua.
	ttl, want int64
	how       string

	// Of release.lua and unshare.lua.
	doubt  string
	minted uint64

	wants string // of share.lua and unshare.lua: see wants

	repeatable bool // it may be sent twice

	// The lane's, under its mutex.
	place place

	events    chan event
	answer    answer
	sure      bool // so far, that whatever was sent was answered
	abandoned bool // something may still read this op
	pressed   bool // it has waited long enough for what it could overtake
}

// answer is what became of an op.
type answer struct {
	line string    // what the script said
	err  error     // instead
	sent time.Time // before this it was not sent; zero: it never was
	sure bool      // whatever was sent was answered: nothing is on its way

	confirmed int // by so many replicas, if they were asked
}

// How an acquisition is meant.
const (
	try     = "t"
	enqueue = "q"
	prolong = "p"
)

// place is where an op is.
type place int

const (
	queued  place = iota
	leading       // queued, and its caller was told to fly what is queued
	flying
	flown // and answered
	left  // by its caller
)

// event is what the caller of an op waits for.
type event int

const (
	done  event = iota // the answer is there
	lead               // fly what is queued
	press              // do not wait any longer for what it could overtake
)

// appendArgs appends what the script is told about o. Pointers, because to make
// an interface of a string allocates.
func (o *op) appendArgs(args []any) []any {
	args = append(args, &o.owner)
	switch o.script {
	case acquireScript:
		return append(args, &o.ttl, &o.want, &o.how)
	case shareScript:
		return append(args, &o.ttl, &o.want, &o.how, &o.wants)
	case unshareScript:
		return append(args, &o.doubt, &o.minted, &o.wants)
	default:
		return append(args, &o.doubt, &o.minted)
	}
}

// flag is a boolean for scripts.
func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// ops are used again and again: each has a channel.
type ops struct{ pool sync.Pool }

func (p *ops) get() *op {
	if o, ok := p.pool.Get().(*op); ok {
		return o
	}
	return &op{events: make(chan event, 1)}
}

// put takes back an op of which nobody else knows any more.
func (p *ops) put(o *op) {
	*o = op{events: o.events}
	p.pool.Put(o)
}
