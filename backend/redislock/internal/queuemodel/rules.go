package queuemodel

// Rule is a rule of the protocol. A model can leave out any of them, to show what the
// rule is for.
type Rule uint32

// The rules.
const (
	// Polls: a waiter also asks without having received a message.
	Polls Rule = 1 << iota
	// LateGrantsRefused: the deadline counts from before the attempt was sent, and a
	// later grant is released.
	LateGrantsRefused
	// InDoubtTold: a release says whether an attempt may still be in flight.
	InDoubtTold
	// KnowsOwner: an attempt by the owner of the lock succeeds.
	KnowsOwner
	// ClaimExtends: claiming a lock that was passed on gives a whole lease.
	ClaimExtends
	// QueueFirst: a free lock goes to the head of the queue.
	QueueFirst
	// HelpsHead: an attempt that finds a free lock and earlier waiters passes it on to
	// them.
	HelpsHead
	// KeepsTicket: an owner that queues again keeps its place.
	KeepsTicket
	// GoneRefused: an attempt by an owner that has released in doubt is refused.
	GoneRefused
	// ChecksOwner: a release only deletes the lock of its own owner.
	ChecksOwner
	// LeavesQueue: a release by a waiter removes it from the queue.
	LeavesQueue
	// PassesOn: a release passes the lock on to the head of the queue.
	PassesOn
	// PassesUnclaimed: so does the release of a lock that its owner has not claimed.
	PassesUnclaimed
	// LateReleaseHelps: so does a release that finds the lock free.
	LateReleaseHelps
	// UnheardKept: a lock stays passed on even if its message had no receiver.
	UnheardKept

	// Protocol is all rules.
	Protocol Rule = 1<<iota - 1
)

func (r Rule) has(one Rule) bool { return r&one != 0 }

// Fault is something that can go wrong.
type Fault uint8

// The faults.
const (
	// Crash: a process dies, and another replaces it.
	Crash Fault = 1 << iota
	// MessageLost: a message that the lock was passed on is lost.
	MessageLost
	// ReplyLost: the server has executed a call, and the reply is lost.
	ReplyLost
	// CallLate: a call is delayed, and may arrive after later ones.
	CallLate
	// CallLost: a delayed call is lost.
	CallLost
	// Outage: a queue expires although its owners are alive.
	Outage

	// Anything is all faults.
	Anything Fault = 1<<iota - 1
)

// Model is what to explore.
type Model struct {
	Processes int // at most Most
	Rules     Rule
	Faults    Fault
}
