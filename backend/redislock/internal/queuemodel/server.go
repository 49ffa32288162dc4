package queuemodel

import "slices"

// Most is the largest number of processes.
const Most = 4

// Owner is who may have the lock: the number of a process, from 1.
type Owner uint8

// Nobody is no owner.
const Nobody Owner = 0

// Owners is a set of them.
type Owners uint8

// Has reports whether o is one of them.
func (os Owners) Has(o Owner) bool { return os&(1<<o) != 0 }

func (os Owners) with(o Owner) Owners    { return os | 1<<o }
func (os Owners) without(o Owner) Owners { return os &^ (1 << o) }

// Queue is who waits, first come first; behind the last are zeros.
type Queue [Most]Owner

// List returns those who wait.
func (q Queue) List() []Owner {
	end := slices.Index(q[:], Nobody)
	if end < 0 {
		end = len(q)
	}
	return q[:end]
}

// place returns how many are before o, or -1 if it is not in the queue.
func (q *Queue) place(o Owner) int { return slices.Index(q[:], o) }

func (q *Queue) remove(o Owner) {
	if i := q.place(o); i >= 0 {
		copy(q[i:], q[i+1:])
		q[len(q)-1] = Nobody
	}
}

func (q *Queue) push(o Owner) { q[len(q.List())] = o }

// Server is what Redis knows of the key.
type Server struct {
	Lock     Owner  // the value of the key
	Promised bool   // it lives for a claim window, not for a lease
	Queue    Queue  // {key}:queue
	Released Owner  // whose release applied last, from {key}:fence
	Buried   Owners // who gave up with an attempt on its way, from there too
}

// Answer is the first word of a script's answer.
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

// Reply is what a script does beside changing the server.
type Reply struct {
	Answer Answer
	Told   Owner // to whom a message goes
}

// acquire does what acquire.lua does for one lock.
func (s *Server) acquire(o Owner, queues bool, r Rule) Reply {
	switch {
	case s.Lock == o && r.has(KnowsOwner):
		s.Queue.remove(o)
		if r.has(ClaimProlongs) {
			s.Promised = false
		}
		return Reply{Answer: Granted}
	case s.Lock != Nobody && !queues:
		return Reply{Answer: Held}
	case (s.Released == o || s.Buried.Has(o)) && r.has(GoneRefused):
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
			told = s.pass(Nobody)
		}
	}
	if queues {
		s.enqueue(o, r)
	}
	return Reply{Held, told}
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
func (s *Server) release(o Owner, doubt bool, r Rule) Reply {
	current, unclaimed := s.Lock, s.Promised
	mine := current == o || current != Nobody && !r.has(ChecksOwner)
	again := s.Released == o
	if mine {
		s.free()
		s.Released = o
	} else if r.has(LeavesQueue) {
		s.Queue.remove(o)
	}
	if doubt {
		s.Buried = s.Buried.with(o)
	}
	var reply Reply
	if mine && r.has(PassesOn) && (!unclaimed || r.has(PassesUnclaimed)) ||
		current == Nobody && r.has(LateReleaseHelps) {
		reply.Told = s.pass(o)
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

// pass does what pass.lua does: it gives the lock to the head of the queue, and
// returns who that is. An entry of who is leaving is dropped.
func (s *Server) pass(leaving Owner) Owner {
	for s.Queue[0] != Nobody {
		head := s.Queue[0]
		s.Queue.remove(head)
		if head != leaving {
			s.Lock, s.Promised = head, true
			return head
		}
	}
	return Nobody
}

// free is the end of the lock, by a release or because its time is up.
func (s *Server) free() { s.Lock, s.Promised = Nobody, false }

// knows reports whether the lock is the owner's, or a place in its queue.
func (s *Server) knows(o Owner) bool { return s.Lock == o || s.Queue.place(o) >= 0 }

// forget is that the owner's process goes on with a fresh one: the names that were
// remembered are nobody's.
func (s *Server) forget(o Owner) {
	if s.Released == o {
		s.Released = Nobody
	}
	s.Buried = s.Buried.without(o)
}
