package queuemodel

// Violations. See the package comment.
const (
	// TwoHolders is reported as soon as two holders are possible: a single process that
	// trusts a lock that the server has given to another is enough.
	TwoHolders   = "a process trusts a lock that the server has given to another"
	BehindItself = "the holder waits behind itself"
	LeftBehind   = "an owner has released and left data behind"
	LiveRefused  = "a live owner is refused"
	PlaceLost    = "a waiter has lost its place"
	QueueJumped  = "a later waiter got the lock"
	NeverServed  = "process 1 waits, and can never be served"
	NeverClean   = "the key can never return to its unused state"
)

// broken returns the violation in a state, or "".
func (s *State) broken(processes int) string {
	for i := range s.Processes[:processes] {
		o := Owner(i + 1)
		switch s.Processes[i].Phase {
		case Holding:
			if s.Server.Lock != o {
				return TwoHolders
			}
		case Gone:
			if s.Server.knows(o) {
				return LeftBehind
			}
		default:
		}
	}
	if s.Server.Lock != Nobody && s.Server.Queue.place(s.Server.Lock) >= 0 {
		return BehindItself
	}
	return ""
}

// brokenBy returns the violation in a step, or "".
func (s *State) brokenBy(st *Step, processes int) string {
	if st.Reply.Answer == Refused && s.process(st.Call.Owner).lives() {
		return LiveRefused
	}
	before, after := &s.Server, &st.To.Server
	leaver := Nobody
	if st.Call.Op == Release {
		leaver = st.Call.Owner
	}

	if after.Lock != before.Lock && after.Lock != Nobody {
		for _, first := range before.Queue.List() {
			if first == leaver {
				continue
			}
			if first != after.Lock {
				return QueueJumped
			}
			break
		}
	}

	if st.Call.Op == Expire || st.Call.Op == End {
		return "" // the claim window, and the end of the queue, are for such owners
	}
	for i := range s.Processes[:processes] {
		o := Owner(i + 1)
		if s.process(o).waits() && st.To.process(o).waits() && o != leaver && lostPlace(before, after, o) {
			return PlaceLost
		}
	}
	return ""
}

// lostPlace reports whether an owner that was behind o is now before it, or whether o
// is no longer in the queue.
func lostPlace(before, after *Server, o Owner) bool {
	switch {
	case !before.knows(o) || after.Lock == o:
		return false
	case !after.knows(o) || before.Lock == o:
		return true
	}
	was := before.Queue.place(o)
	for _, other := range after.Queue[:after.Queue.place(o)] {
		if p := before.Queue.place(other); p < 0 || p > was {
			return true
		}
	}
	return false
}
