package queuemodel

import "slices"

// State is the whole state at one moment. The process of owner o is at o-1.
type State struct {
	Server    Server
	Processes [Most]Process
}

func (s *State) process(o Owner) *Process { return &s.Processes[o-1] }

// tidy removes what cannot make a difference any more. A process without remains of its
// last acquisition becomes one that has never had an acquisition.
func (s *State) tidy(processes int) {
	for i := range s.Processes[:processes] {
		p, o := &s.Processes[i], Owner(i+1)
		if !p.waits() {
			p.Message = false // no waiter needs it
		}
		if p.Phase != Asking {
			p.Woken = false
		}
		if !p.ended() {
			continue
		}
		if !p.LateRelease {
			p.InDoubt = false
		}
		if !p.late() && !s.Server.knows(o) {
			s.Server.forget(o)
			*p = Process{}
		}
	}
}

// key is equal for states that differ only in the names of the processes, except the
// first: it is watched, and what is true of it is true of all.
type key [Most]uint32

func (s *State) key(processes int) key {
	var k key
	for i := range s.Processes[:processes] {
		k[i] = s.part(&s.Processes[i], Owner(i+1))
	}
	slices.Sort(k[1:processes])
	return k
}

// part is what one process adds to the key. All parts together are the state.
func (s *State) part(p *Process, o Owner) uint32 {
	k := uint32(p.Phase)
	bit := func(b bool) {
		k <<= 1
		if b {
			k |= 1
		}
	}
	bit(p.InDoubt)
	bit(p.Woken)
	bit(p.Message)
	bit(p.LateAttempt)
	bit(p.LateRelease)
	bit(s.Server.Lock == o)
	bit(s.Server.Lock == o && s.Server.Promised)
	// Only attempts are refused because of it.
	asks := p.LateAttempt || p.lives()
	bit(asks && s.Server.Tombstones.Has(o))
	return k<<3 | uint32(s.Server.Queue.place(o)+1)
}
