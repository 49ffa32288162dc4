package redislock_test

// modelPhase is the phase of the present acquisition of a process.
type modelPhase uint8

const (
	phaseIdle     modelPhase = iota // without an acquisition and without remains of the last one
	phaseAsking                     // before an attempt, the first or a later one
	phaseTaking                     // a plain attempt took the lock, and has not looked for others yet
	phaseWaiting                    // the reply was that another owner has the lock
	phaseAnswered                   // a grant is in flight to the process
	phaseOutlived                   // a grant is in flight, but the lease has ended
	phaseHolding                    // the process trusts the lock
	phaseLeaving                    // it has ended its acquisition, and no release is confirmed yet
	phaseGone                       // a release is confirmed; requests may still be in flight
	phaseDead                       // it has crashed, and may have left data or requests
)

// modelProcess is a caller of the Backend: its knowledge, and its requests and messages
// in flight.
type modelProcess struct {
	phase   modelPhase
	tries   bool // it does not queue
	inDoubt bool // an attempt had no reply
	woken   bool // a message came during an attempt
	ended   bool // the lease ended while it was taking the lock

	message     bool    // in flight to the process
	lateAttempt modelOp // in flight to the server; its reply is ignored
	lateRelease bool    // in flight to the server; its reply is ignored
}

// waits reports whether the process wants the lock and does not have it.
func (p *modelProcess) waits() bool {
	return phaseAsking <= p.phase && p.phase <= phaseWaiting && !p.ended && !p.tries
}

// lives reports whether the process has an acquisition that it has not ended.
func (p *modelProcess) lives() bool { return phaseAsking <= p.phase && p.phase <= phaseHolding }

// answer handles the reply to an attempt.
func (p *modelProcess) answer(r modelReply) {
	woken := p.woken
	p.woken = false
	switch {
	case r.answer == "1":
		p.phase = phaseAnswered
	case p.tries && p.inDoubt:
		p.phase = phaseLeaving
	case p.tries:
		p.phase = phaseIdle
	case woken:
		p.phase = phaseAsking
	default:
		p.phase = phaseWaiting
	}
}

// take handles the reply to the first command of a plain attempt.
func (p *modelProcess) take(r modelReply) {
	if r.answer == "1" {
		p.phase = phaseTaking
	}
}

// look handles the reply to its other commands.
func (p *modelProcess) look(r modelReply) {
	switch {
	case r.answer != "1":
		p.phase = phaseAsking // to run the script
	case p.ended:
		p.phase = phaseOutlived
	default:
		p.phase = phaseAnswered
	}
}

// hear handles a message.
func (p *modelProcess) hear() {
	p.message = false
	if p.phase == phaseAsking || p.phase == phaseTaking {
		p.woken = true
	} else {
		p.phase = phaseAsking
	}
}

// modelState is the whole state at one moment. The process of owner o is at o-1.
type modelState struct {
	key       modelKey
	processes [modelMost]modelProcess
}

func (s *modelState) process(o modelOwner) *modelProcess { return &s.processes[o-1] }

// tidy removes what cannot make a difference any more. A process without remains of its
// last acquisition becomes one that has never had an acquisition.
func (s *modelState) tidy(processes int) {
	for i := range s.processes[:processes] {
		p, o := &s.processes[i], modelOwner(i+1)
		if !p.waits() {
			p.message = false // no waiter needs it
		}
		if p.phase != phaseAsking && p.phase != phaseTaking {
			p.woken, p.tries = false, false
		}
		p.ended = p.ended && p.phase == phaseTaking
		if p.phase != phaseGone && p.phase != phaseDead {
			continue
		}
		if !p.lateRelease {
			p.inDoubt = false
		}
		if p.lateAttempt == opNone && !p.lateRelease && !s.key.knows(o) && s.key.unowned != o {
			s.key.tombstones &^= 1 << o
			*p = modelProcess{}
		}
	}
}
