package queuemodel

import "slices"

// Most is the largest number of processes.
const Most = 4

// Owner is the owner of a lock or of a place in the queue: the number of a process,
// from 1.
type Owner uint8

// Nobody is the absence of an owner.
const Nobody Owner = 0

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
}

// Answer is the first word of a script's reply.
type Answer string

// The answers.
const (
	Granted Answer = "1" // of an attempt
	Held    Answer = "0"
	Refused Answer = "-GONE"

	WasMine   Answer = "1" // of a release
	WasOthers Answer = "0"
	WasFree   Answer = "2"
)

// Reply is what a script returns and sends.
type Reply struct {
	Answer Answer
	Told   Owner // receiver of a message
}

// acquire does what acquire.lua does for one lock.
func (s *Server) acquire(o Owner, queues bool, r Rule) Reply {
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
	}
	return Reply{Answer: Held, Told: told}
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
func (s *Server) release(o Owner, inDoubt bool, r Rule) Reply {
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
	if mine && r.has(PassesOn) && (!unclaimed || r.has(PassesUnclaimed)) || current == Nobody && r.has(LateReleaseHelps) {
		reply.Told = s.grantNext(o)
	}
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
