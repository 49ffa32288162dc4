package queuemodel

// Phase is where a process is with its present acquisition.
type Phase uint8

// The phases.
const (
	// Idle: it has no acquisition, and nothing of the last one is left.
	Idle Phase = iota
	// Asking: it is about to attempt, for the first time or again.
	Asking
	// Waiting: it was told that another has the lock.
	Waiting
	// Answered: a grant is on its way to it.
	Answered
	// Outlived: so is one, but the lease has ended meanwhile.
	Outlived
	// Holding: it believes in the lock.
	Holding
	// Leaving: it gives up its acquisition, whatever came of it, and has not heard
	// yet that the server has done so.
	Leaving
	// Gone: it has heard so. Something of it may be on its way still.
	Gone
	// Dead: it has crashed. Something of it may be left anywhere.
	Dead
)

// Process is a caller of the Backend, what it knows, and what is on its way to it
// and from it.
type Process struct {
	Phase Phase
	Doubt bool // an attempt was not answered: see doubt.go
	Woken bool // a message came while it was asking: see signal in inbox.go

	Message     bool // on its way to it
	LateAttempt bool // on its way to the server, and nobody waits for the answer
	LateRelease bool // the same
}

// waits reports whether the process wants the lock and has not got it.
func (p *Process) waits() bool { return p.Phase == Asking || p.Phase == Waiting }

// lives reports whether the process has an acquisition that it has not given up.
func (p *Process) lives() bool { return Asking <= p.Phase && p.Phase <= Holding }

// ended reports whether the process has nothing more to do with its acquisition.
func (p *Process) ended() bool { return p.Phase == Gone || p.Phase == Dead }

// late reports whether a call of the process may still come.
func (p *Process) late() bool { return p.LateAttempt || p.LateRelease }

// answer is that the process hears what came of its attempt.
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

// hear is that a message comes.
func (p *Process) hear() {
	p.Message = false
	if p.Phase == Asking {
		p.Woken = true
	} else {
		p.Phase = Asking
	}
}
