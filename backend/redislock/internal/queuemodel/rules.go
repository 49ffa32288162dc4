package queuemodel

// Rule is something that the protocol does. A model can leave any of them out, to
// see what it is good for.
type Rule uint16

// The rules.
const (
	// Polls: who waits also looks without having been told to.
	Polls Rule = 1 << iota
	// LateGrantsRefused: the deadline counts from before the attempt was sent, and
	// a grant that comes after it is given back.
	LateGrantsRefused
	// DoubtTold: who releases says whether an attempt may still be on its way.
	DoubtTold
	// KnowsOwner: an attempt of who has the lock already succeeds.
	KnowsOwner
	// ClaimProlongs: who claims what was passed on gets a whole lease.
	ClaimProlongs
	// QueueFirst: a lock that is free goes to the head of the queue.
	QueueFirst
	// HelpsHead: who finds the lock free and others first passes it on to them.
	HelpsHead
	// KeepsTicket: who queues again keeps its place.
	KeepsTicket
	// GoneRefused: an attempt of an owner that has released is refused.
	GoneRefused
	// ChecksOwner: a release deletes the lock of its owner only.
	ChecksOwner
	// LeavesQueue: a release of who waits gives up its place.
	LeavesQueue
	// PassesOn: a release passes the lock on to the head of the queue.
	PassesOn
	// PassesUnclaimed: it does so too if its owner has never claimed it.
	PassesUnclaimed
	// LateReleaseHelps: a release that finds the lock free passes it on too.
	LateReleaseHelps
	// UnheardKept: what was passed on stays so although nobody heard the message.
	UnheardKept

	// Protocol is all of them.
	Protocol Rule = 1<<iota - 1
)

func (r Rule) has(one Rule) bool { return r&one != 0 }

// Fault is something that may go wrong.
type Fault uint8

// The faults.
const (
	// Crash: a process dies, and another takes its place.
	Crash Fault = 1 << iota
	// MessageLost: nobody hears that the lock was passed on.
	MessageLost
	// ReplyLost: the server has done what it was asked to, and the caller does not
	// hear of it.
	ReplyLost
	// CallLate: a call is stuck on its way, and may come after those behind it.
	CallLate
	// CallLost: a call that was late does not come at all.
	CallLost
	// Outage: a queue ends although those in it are alive.
	Outage

	// Anything is all of them.
	Anything Fault = 1<<iota - 1
)

// Model is what is explored.
type Model struct {
	Processes int // at most Most
	Rules     Rule
	Faults    Fault
}
