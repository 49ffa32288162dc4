package queuemodel

// Op is a request to the server, or an event at the server.
type Op uint8

// The operations.
const (
	None    Op = iota
	Try        // acquire.lua, mode t
	Acquire    // acquire.lua, mode q
	Release    // release.lua
	Expire     // the lease or the claim window expires
	End        // the queue expires
	Retract    // of a model that trusts PUBLISH's count: the message had no receiver
)

// Call is an operation for an owner.
type Call struct {
	Op      Op
	Owner   Owner
	InDoubt bool
}

// Step is one event.
type Step struct {
	What  string
	Fault Fault // the fault that the step is, if any
	Fair  bool  // it happens eventually without faults, and does not depend on a decision
	Call  Call
	Reply Reply
	After Server // after the call
	To    State
}

// do changes the server.
func (s *Server) do(c Call, r Rule) Reply {
	switch c.Op {
	case Try, Acquire:
		return s.acquire(c.Owner, c.Op == Acquire, r)
	case Release:
		return s.release(c.Owner, c.InDoubt && r.has(InDoubtTold), r)
	case Expire:
		s.free()
	case End:
		s.Queue = Queue{}
	case Retract:
		s.free()
		return Reply{Told: s.grantNext(Nobody)}
	case None:
	}
	return Reply{}
}

// stepper collects the steps of a state.
type stepper struct {
	Model
	from  State
	visit func(Step)
}

// Steps calls visit with every step that is possible in a state.
func (m Model) Steps(s State, visit func(Step)) {
	st := stepper{m, s, visit}
	for o := Owner(1); int(o) <= m.Processes; o++ {
		st.decisions(o)
		st.calls(o)
		st.network(o)
	}
	st.server()
}

// step adds a step: the call is made, and then the process handles its reply.
func (st *stepper) step(what Step, then func(p *Process, r Reply)) {
	if what.Fault&^st.Faults != 0 {
		return
	}
	s := st.from
	r := s.Server.do(what.Call, st.Rules)
	what.Reply, what.After = r, s.Server
	if r.Told != Nobody {
		s.process(r.Told).Message = true
	}
	if o := what.Call.Owner; o != Nobody && then != nil {
		then(s.process(o), r)
	}
	s.tidy(st.Processes)
	what.To = s
	st.visit(what)
}

// decisions are the steps that a process takes without the server.
func (st *stepper) decisions(o Owner) {
	by := Call{Owner: o}
	become := func(what string, fair bool, ph Phase) {
		st.step(Step{What: what, Fair: fair, Call: by}, func(p *Process, _ Reply) { p.Phase = ph })
	}
	p := st.from.process(o)
	switch p.Phase {
	case Idle:
		become("wants the lock", false, Asking)
	case Waiting:
		if st.Rules.has(Polls) {
			become("polls", true, Asking)
		}
	case Answered:
		become("has the lock", true, Holding)
	case Outlived:
		if st.Rules.has(LateGrantsRefused) {
			become("is granted the lock too late", true, Leaving)
		} else {
			become("has the lock, late", true, Holding)
		}
	case Holding:
		become("is done, or past its deadline", true, Leaving)
	case Asking, Leaving, Gone, Dead:
	}
	if p.lives() && p.Phase != Holding {
		st.step(Step{What: "gives up", Call: by}, func(p *Process, _ Reply) {
			p.InDoubt = p.InDoubt || p.Phase == Answered || p.Phase == Outlived
			p.Phase = Leaving
		})
	}
	if p.lives() || p.Phase == Leaving {
		st.step(Step{What: "crashes", Fault: Crash, Call: by}, func(p *Process, _ Reply) { p.Phase = Dead })
	}
}

// calls are the requests to the server.
func (st *stepper) calls(o Owner) {
	p := st.from.process(o)
	inDoubt := func(p *Process, _ Reply) { p.InDoubt = true }
	switch p.Phase {
	case Idle:
		try := Call{Op: Try, Owner: o}
		st.step(Step{What: "tries", Call: try}, func(p *Process, r Reply) {
			if r.Answer == Granted {
				p.Phase = Answered
			}
		})
		st.step(Step{What: "tries and hears nothing", Fault: ReplyLost, Call: try}, func(p *Process, _ Reply) {
			p.Phase, p.InDoubt = Leaving, true
		})
	case Asking:
		ask := Call{Op: Acquire, Owner: o}
		st.step(Step{What: "asks", Fair: true, Call: ask}, func(p *Process, r Reply) { p.answer(r.Answer) })
		st.step(Step{What: "asks and hears nothing", Fault: ReplyLost, Call: ask}, inDoubt)
		if !p.LateAttempt {
			st.step(Step{What: "asks, which is stuck", Fault: CallLate, Call: Call{Owner: o}}, func(p *Process, _ Reply) {
				p.LateAttempt, p.InDoubt = true, true
			})
		}
	case Leaving:
		release := Call{Op: Release, Owner: o, InDoubt: p.InDoubt}
		st.step(Step{What: "releases", Fair: true, Call: release}, func(p *Process, _ Reply) { p.Phase = Gone })
		st.step(Step{What: "releases and hears nothing", Fault: ReplyLost, Call: release}, nil)
		if !p.LateRelease {
			st.step(Step{What: "releases, which is stuck", Fault: CallLate, Call: Call{Owner: o}}, func(p *Process, _ Reply) { p.LateRelease = true })
		}
	case Waiting, Answered, Outlived, Holding, Gone, Dead:
	}
}

// network delivers, or loses, requests and messages in flight.
func (st *stepper) network(o Owner) {
	p := st.from.process(o)
	by := Call{Owner: o}
	if p.Message {
		st.step(Step{What: "hears the message", Fair: true, Call: by}, func(p *Process, _ Reply) { p.hear() })
		lost := by
		if !st.Rules.has(UnheardKept) && st.from.Server.Lock == o && st.from.Server.Promised {
			lost.Op = Retract
		}
		st.step(Step{What: "misses the message", Fault: MessageLost, Call: lost}, func(p *Process, _ Reply) { p.Message = false })
	}
	if p.LateAttempt {
		gone := func(p *Process, _ Reply) { p.LateAttempt = false }
		st.step(Step{What: "asks, at last", Fair: true, Call: Call{Op: Acquire, Owner: o}}, gone)
		st.step(Step{What: "has its attempt lost", Fault: CallLost, Call: by}, gone)
	}
	if p.LateRelease {
		gone := func(p *Process, _ Reply) { p.LateRelease = false }
		st.step(Step{What: "releases, at last", Fair: true, Call: Call{Op: Release, Owner: o, InDoubt: p.InDoubt}}, gone)
		st.step(Step{What: "has its release lost", Fault: CallLost, Call: by}, gone)
	}
}

// server expires locks and queues.
func (st *stepper) server() {
	srv := &st.from.Server
	if o := srv.Lock; o != Nobody {
		// While a process trusts its lease, its own deadline comes first. It does not
		// know about a claim window.
		if srv.Promised {
			st.step(Step{What: "has its claim window end", Fair: true, Call: Call{Op: Expire, Owner: o}}, nil)
		} else if st.from.process(o).Phase != Holding {
			st.step(Step{What: "has its lease end", Fair: true, Call: Call{Op: Expire, Owner: o}}, func(p *Process, _ Reply) {
				if p.Phase == Answered {
					p.Phase = Outlived
				}
			})
		}
	}
	waiting := srv.Queue.List()
	if len(waiting) == 0 {
		return
	}
	fault := Fault(0)
	for _, o := range waiting {
		if st.from.process(o).waits() {
			fault = Outage // its waiters ask often enough
		}
	}
	st.step(Step{What: "the queue ends", Fault: fault, Fair: fault == 0, Call: Call{Op: End}}, nil)
}
