package queuemodel

import "slices"

// Most is the largest number of processes.
const Most = 4

// Owner is the owner of a lock or of a place in the queue: the number of a process,
// from 1.
type Owner uint8

// Owners that are not processes.
const (
	Nobody   Owner = 0        // the absence of an owner
	Stranger Owner = Most + 1 // a client of another library; it has no process here
)

// Owners is a set of owners.
type Owners uint8

// Has reports whether o is in the set.
func (os Owners) Has(o Owner) bool { return os&(1<<o) != 0 }

func (os Owners) with(o Owner) Owners    { return os | 1<<o }
func (os Owners) without(o Owner) Owners { return os &^ (1 << o) }

// Queue is the waiters in order, followed by zeros.
type Queue [Most]Owner

// List returns the waiters.
func (q Queue) List() []Owner {
	end := slices.Index(q[:], Nobody)
	if end < 0 {
		end = len(q)
	}
	return q[:end]
}

// place returns the number of waiters before o, or -1 if o is not in the queue.
func (q *Queue) place(o Owner) int { return slices.Index(q[:], o) }

func (q *Queue) remove(o Owner) {
	if i := q.place(o); i >= 0 {
		copy(q[i:], q[i+1:])
		q[len(q)-1] = Nobody
	}
}

func (q *Queue) push(o Owner) { q[len(q.List())] = o }

// Server is the data of one key in Redis.
type Server struct {
	Lock       Owner  // the value of the key
	Promised   bool   // the key lives for a claim window, not for a lease
	Queue      Queue  // {key}:queue
	Tombstones Owners // {key}:gone, owners that left with an attempt in flight
	Room       bool   // {key}:gone says that the lock is left free
}

// Answer is the first word of a script's reply.
type Answer string

// The answers.
const (
	Granted Answer = "1" // of an attempt
	Held    Answer = "0"
	Refused Answer = "-GONE"

	// LookAgain is Held, but the owner comes back without a message: the lock is left
	// free, or another library has it and the owner is at the head of the queue.
	LookAgain Answer = "3"

	WasMine   Answer = "1" // of a release
	WasOthers Answer = "0"
	WasFree   Answer = "2"
)

// Reply is what a script returns and sends.
type Reply struct {
	Answer Answer
	Told   Owner // receiver of a message
	Wakes  bool  // the message says only that the receiver should ask
}

// acquire does what acquire.lua does for one lock.
func (s *Server) acquire(o Owner, queues, over bool, r Rule) Reply {
	switch {
	case s.Lock == o && r.has(KnowsOwner):
		s.Queue.remove(o)
		if r.has(ClaimExtends) {
			s.Promised = false
		}
		return Reply{Answer: Granted}
	case s.Lock != Nobody && !queues:
		return Reply{Answer: Held}
	case s.Tombstones.Has(o) && r.has(GoneRefused):
		return Reply{Answer: Refused}
	}
	told := Nobody
	if s.Lock == Nobody && s.leftFree(over, r) {
		if queues {
			s.enqueue(o, r)
		}
		return Reply{Answer: s.later(r)}
	}
	if s.Lock == Nobody {
		if head := s.Queue[0]; head == Nobody || head == o || !r.has(QueueFirst) {
			s.Lock, s.Promised = o, false
			s.Queue.remove(o)
			return Reply{Answer: Granted}
		}
		if r.has(HelpsHead) {
			told = s.grantNext(Nobody)
		}
	}
	if queues {
		s.enqueue(o, r)
		if s.Lock == Stranger && s.Queue[0] == o {
			return Reply{Answer: s.later(r)}
		}
	}
	return Reply{Answer: Held, Told: told}
}

// leftFree reports whether the free lock must stay free. It begins the room if the stretch is
// over and others wait.
func (s *Server) leftFree(over bool, r Rule) bool {
	s.Room = s.Room || over && s.Queue[0] != Nobody
	return s.Room && r.has(RoomKept)
}

// later is the answer to an owner that should look again.
func (s *Server) later(r Rule) Answer {
	if r.has(LooksAgain) {
		return LookAgain
	}
	return Held
}

func (s *Server) enqueue(o Owner, r Rule) {
	if !r.has(KeepsTicket) {
		s.Queue.remove(o)
	}
	if s.Queue.place(o) < 0 {
		s.Queue.push(o)
	}
}

// release does what release.lua does for one lock.
func (s *Server) release(o Owner, inDoubt, over bool, r Rule) Reply {
	current, unclaimed := s.Lock, s.Promised
	mine := current == o || current != Nobody && !r.has(ChecksOwner)
	again := inDoubt && s.Tombstones.Has(o)
	if mine {
		s.free()
	} else if r.has(LeavesQueue) {
		s.Queue.remove(o)
	}
	if inDoubt {
		s.Tombstones = s.Tombstones.with(o)
	}
	var reply Reply
	switch {
	case mine && over:
		s.Room = true
		if r.has(RoomTold) {
			reply.Told = s.head(o)
		}
	case current == Nobody && s.leftFree(over, r):
		if r.has(RoomToldAgain) {
			reply.Told = s.head(o)
		}
	case mine && r.has(PassesOn) && (!unclaimed || r.has(PassesUnclaimed)), current == Nobody && r.has(LateReleaseHelps):
		reply.Told = s.grantNext(o)
	}
	reply.Wakes = s.Room && reply.Told != Nobody
	switch {
	case mine || again:
		reply.Answer = WasMine
	case current != Nobody:
		reply.Answer = WasOthers
	default:
		reply.Answer = WasFree
	}
	return reply
}

// grantNext does what grant_next in queue.lua does: it gives the lock to the head of the queue, and returns
// that owner. An entry of the leaving owner is dropped.
func (s *Server) grantNext(leaving Owner) Owner {
	head := s.head(leaving)
	if head != Nobody {
		s.Queue.remove(head)
		s.Lock, s.Promised = head, true
	}
	return head
}

// head returns the head of the queue. It drops an entry of the leaving owner.
func (s *Server) head(leaving Owner) Owner {
	if s.Queue[0] == leaving {
		s.Queue.remove(leaving)
	}
	return s.Queue[0]
}

// free removes the lock, after a release or because it has expired.
func (s *Server) free() { s.Lock, s.Promised = Nobody, false }

// knows reports whether o has the lock or a place in its queue.
func (s *Server) knows(o Owner) bool { return s.Lock == o || s.Queue.place(o) >= 0 }

// forget removes o from the records, because its process continues with a new owner.
func (s *Server) forget(o Owner) {
	s.Tombstones = s.Tombstones.without(o)
}
