package queuemodel

// Phase is the phase of the current acquisition of a process.
type Phase uint8

// The phases.
const (
	// Idle: without an acquisition and without remains of the last one.
	Idle Phase = iota
	// Asking: before an attempt, the first or a later one.
	Asking
	// Waiting: the reply was that another owner has the lock.
	Waiting
	// Answered: a grant is in flight to the process.
	Answered
	// Outlived: a grant is in flight, but the lease has expired.
	Outlived
	// Holding: the process trusts the lock.
	Holding
	// Leaving: the process ends its acquisition, with or without the lock, and the
	// server has not confirmed the release yet.
	Leaving
	// Gone: the server has confirmed the release. Requests may still be in flight.
	Gone
	// Dead: the process has crashed. It may have left data or requests.
	Dead
)

// Process is a caller of the Backend: its knowledge, and its requests and messages in
// flight.
type Process struct {
	Phase   Phase
	InDoubt bool // an attempt had no reply: see indoubt.go
	Woken   bool // a message came during an attempt: see signal in inbox.go

	Message     bool // in flight to the process
	LateAttempt bool // in flight to the server; its reply is ignored
	LateRelease bool // in flight to the server; its reply is ignored
}

// waits reports whether the process wants the lock and does not have it.
func (p *Process) waits() bool { return p.Phase == Asking || p.Phase == Waiting }

// lives reports whether the process has an acquisition that it has not ended.
func (p *Process) lives() bool { return Asking <= p.Phase && p.Phase <= Holding }

// ended reports whether the process has nothing more to do with its acquisition.
func (p *Process) ended() bool { return p.Phase == Gone || p.Phase == Dead }

// late reports whether a call of the process is still in flight.
func (p *Process) late() bool { return p.LateAttempt || p.LateRelease }

// answer handles the reply to an attempt.
func (p *Process) answer(a Answer) {
	woken := p.Woken
	p.Woken = false
	switch {
	case a == Granted:
		p.Phase = Answered
	case woken:
		p.Phase = Asking
	default:
		p.Phase = Waiting
	}
}

// hear handles a message.
func (p *Process) hear() {
	p.Message = false
	if p.Phase == Asking {
		p.Woken = true
	} else {
		p.Phase = Asking
	}
}
