package redislock_test

import "fmt"

// modelFault is something that can go wrong.
type modelFault uint8

const (
	faultCrash       modelFault = 1 << iota // a process dies, and another replaces it
	faultMessageLost                        // a message that the lock was passed on is lost
	faultReplyLost                          // the server has executed a call, and the reply is lost
	faultCallLate                           // a call is delayed, and may arrive after later ones
	faultCallLost                           // a delayed call is lost
	faultOutage                             // a queue ends although its owners are alive

	faultAny modelFault = 1<<iota - 1
)

// modelRules are rules of the Backend and the Locker that a model can leave out, to
// show what they are for.
type modelRules struct {
	noPolls      bool // a waiter asks only after a message
	trustsReply  bool // a grant counts although its lease has ended, because it is counted from the reply
	takesInDoubt bool // an owner with an attempt in doubt makes plain ones
	hidesDoubt   bool // a release does not say that an attempt may be in flight
	takesUnheard bool // a lock is taken back if its message had no receiver
}

// model is what to explore.
type model struct {
	processes int
	rules     modelRules
	faults    modelFault
}

// modelStep is one event.
type modelStep struct {
	what  string
	fault modelFault // the fault that the step is, if any
	fair  bool       // it happens eventually without faults, and does not depend on a decision
	call  modelCall
	reply modelReply
	to    modelState
}

func (st modelStep) String() string {
	text := st.what
	if st.call.owner != nobody {
		text = fmt.Sprintf("process %d %s", st.call.owner, text)
	}
	if st.reply.answer != "" {
		text += ": " + st.reply.answer
	}
	if st.reply.told != nobody {
		text += fmt.Sprintf("; the lock is passed on to %d", st.reply.told)
	}
	return text
}

// stepper collects the steps of a state.
type stepper struct {
	model
	do    func(modelKey, modelCall) (modelKey, modelReply)
	from  modelState
	visit func(modelStep)
}

// steps calls visit with every step that is possible in a state.
func (m model) steps(do func(modelKey, modelCall) (modelKey, modelReply), from modelState, visit func(modelStep)) {
	st := stepper{m, do, from, visit}
	for o := modelOwner(1); int(o) <= m.processes; o++ {
		st.decisions(o)
		st.calls(o)
		st.network(o)
	}
	st.server()
}

// step adds a step: the call is made, and then the process handles its reply.
func (st *stepper) step(what modelStep, then func(*modelProcess, modelReply)) {
	if what.fault&^st.faults != 0 {
		return
	}
	to := st.from
	if what.call.op != opNone {
		to.key, what.reply = st.do(to.key, what.call)
	}
	if what.reply.told != nobody {
		to.process(what.reply.told).message = true
	}
	if o := what.call.owner; o != nobody && then != nil {
		then(to.process(o), what.reply)
	}
	to.tidy(st.processes)
	what.to = to
	st.visit(what)
}

// decisions are the steps that a process takes without the server.
func (st *stepper) decisions(o modelOwner) {
	by := modelCall{owner: o}
	become := func(what string, fair bool, ph modelPhase) {
		st.step(modelStep{what: what, fair: fair, call: by}, func(p *modelProcess, _ modelReply) { p.phase = ph })
	}
	p := st.from.process(o)
	switch {
	case p.phase == phaseIdle:
		become("wants the lock", false, phaseAsking)
		if o == 1 || st.processes == 2 { // more of them are too many states
			st.step(modelStep{what: "wants it at once", call: by}, func(p *modelProcess, _ modelReply) { p.phase, p.tries = phaseAsking, true })
		}
	case p.phase == phaseWaiting && !st.rules.noPolls:
		become("polls", true, phaseAsking)
	case p.phase == phaseAnswered:
		become("has the lock", true, phaseHolding)
	case p.phase == phaseOutlived && st.rules.trustsReply:
		become("has the lock, late", true, phaseHolding)
	case p.phase == phaseOutlived:
		become("is granted the lock too late", true, phaseLeaving)
	case p.phase == phaseHolding:
		become("is done, or past its deadline", true, phaseLeaving)
	}
	if p.lives() && p.phase != phaseHolding {
		st.step(modelStep{what: "gives up", call: by}, func(p *modelProcess, _ modelReply) {
			p.inDoubt = p.inDoubt || p.phase == phaseTaking || p.phase == phaseAnswered || p.phase == phaseOutlived
			p.phase = phaseLeaving
		})
	}
	if p.lives() || p.phase == phaseLeaving {
		st.step(modelStep{what: "crashes", fault: faultCrash, call: by}, func(p *modelProcess, _ modelReply) { p.phase = phaseDead })
	}
}

// calls are the requests to the server.
func (st *stepper) calls(o modelOwner) {
	p := st.from.process(o)
	switch p.phase {
	case phaseAsking:
		ask := modelCall{op: opEnqueue, owner: o}
		if p.tries {
			ask.op = opTry
		}
		st.step(modelStep{what: "asks", fair: true, call: ask}, (*modelProcess).answer)
		st.step(modelStep{what: "asks and hears nothing", fault: faultReplyLost, call: ask}, func(p *modelProcess, _ modelReply) { p.inDoubt = true })
		st.stuck(o, "asks, which is stuck", ask.op)
		if !p.inDoubt || st.rules.takesInDoubt {
			take := modelCall{op: opTake, owner: o}
			st.step(modelStep{what: "takes", call: take}, (*modelProcess).take)
			st.step(modelStep{what: "takes and hears nothing", fault: faultReplyLost, call: take}, func(p *modelProcess, _ modelReply) { p.inDoubt = true })
			st.stuck(o, "takes, which is stuck", opTake)
		}
	case phaseTaking:
		look := modelCall{op: opLook, owner: o}
		st.step(modelStep{what: "looks for others", fair: true, call: look}, (*modelProcess).look)
		st.step(modelStep{what: "looks and hears nothing", fault: faultReplyLost, call: look}, func(p *modelProcess, _ modelReply) {
			p.phase, p.inDoubt = phaseAsking, true
		})
	case phaseLeaving:
		release := st.release(o)
		st.step(modelStep{what: "releases", fair: true, call: release}, func(p *modelProcess, _ modelReply) { p.phase = phaseGone })
		st.step(modelStep{what: "releases and hears nothing", fault: faultReplyLost, call: release}, nil)
		if !p.lateRelease {
			st.step(modelStep{what: "releases, which is stuck", fault: faultCallLate, call: modelCall{owner: o}}, func(p *modelProcess, _ modelReply) { p.lateRelease = true })
		}
	default:
	}
}

// stuck delays a request of a process that is asking.
func (st *stepper) stuck(o modelOwner, what string, op modelOp) {
	if st.from.process(o).lateAttempt != opNone {
		return
	}
	st.step(modelStep{what: what, fault: faultCallLate, call: modelCall{owner: o}}, func(p *modelProcess, _ modelReply) {
		p.lateAttempt, p.inDoubt = op, true
	})
}

func (st *stepper) release(o modelOwner) modelCall {
	return modelCall{op: opRelease, owner: o, inDoubt: st.from.process(o).inDoubt && !st.rules.hidesDoubt}
}

// network delivers, or loses, requests and messages in flight.
func (st *stepper) network(o modelOwner) {
	p := st.from.process(o)
	by := modelCall{owner: o}
	if p.message {
		st.step(modelStep{what: "hears the message", fair: true, call: by}, func(p *modelProcess, _ modelReply) { p.hear() })
		lost := by
		if st.rules.takesUnheard && st.from.key.lock == o && st.from.key.promised {
			lost.op = opRetract
		}
		st.step(modelStep{what: "misses the message", fault: faultMessageLost, call: lost}, func(p *modelProcess, _ modelReply) { p.message = false })
	}
	if p.lateAttempt != opNone {
		gone := func(p *modelProcess, _ modelReply) { p.lateAttempt = opNone }
		st.step(modelStep{what: "has its attempt arrive", fair: true, call: modelCall{op: p.lateAttempt, owner: o}}, gone)
		st.step(modelStep{what: "has its attempt lost", fault: faultCallLost, call: by}, gone)
	}
	if p.lateRelease {
		gone := func(p *modelProcess, _ modelReply) { p.lateRelease = false }
		st.step(modelStep{what: "releases, at last", fair: true, call: st.release(o)}, gone)
		st.step(modelStep{what: "has its release lost", fault: faultCallLost, call: by}, gone)
	}
}

// server ends locks and queues.
func (st *stepper) server() {
	key := &st.from.key
	if o := key.lock; o != nobody {
		end := modelCall{op: opExpire, owner: o}
		if key.promised {
			st.step(modelStep{what: "has its claim window end", fair: true, call: end}, nil)
		} else if st.from.process(o).phase != phaseHolding { // its own deadline comes first
			st.step(modelStep{what: "has its lease end", fair: true, call: end}, func(p *modelProcess, _ modelReply) {
				if p.phase == phaseAnswered {
					p.phase = phaseOutlived
				}
				p.ended = true
			})
		}
	}
	if o := key.unowned; o != nobody {
		st.step(modelStep{what: "has the lock that nobody has end", fair: true, call: modelCall{op: opExpire, owner: o}}, nil)
	}
	waiting := key.waiting()
	if len(waiting) == 0 {
		return
	}
	fault := modelFault(0)
	for _, o := range waiting {
		if st.from.process(o).waits() {
			fault = faultOutage // its waiters ask often enough
		}
	}
	st.step(modelStep{what: "the queue ends", fault: fault, fair: fault == 0, call: modelCall{op: opEnd}}, nil)
}
