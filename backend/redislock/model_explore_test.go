package redislock_test

import (
	"slices"
	"strings"
)

// What an exploration may find.
const (
	// twoHolders is found as soon as two holders are possible: a single process that
	// trusts a lock that the server has given to another is enough.
	twoHolders   = "a process trusts a lock that the server has given to another"
	behindItself = "the holder waits behind itself"
	leftBehind   = "an owner has released and left data behind"
	liveRefused  = "a live owner is refused"
	placeLost    = "a waiter has lost its place"
	queueJumped  = "a later waiter got the lock"
	keptFromFree = "a lock that nobody has was refused"
	neverServed  = "process 1 waits, and can never be served"
	neverClean   = "the key can never return to its unused state"
)

// exploration has all reachable states, each once, nearest first.
type exploration struct {
	states []modelState
	parent []int32
	by     []string  // the step from the parent
	fair   [][]int32 // where fair steps lead
	taken  map[string]bool
	what   string // the violation, if any
	trace  string // a shortest path to it
}

// explore visits all states, until it finds a violation. The last two are questions
// about the graph: is there a path of fair steps? The number of states is finite, so if
// there is a path from all of them, it is also taken, provided that a step that is
// possible again and again is not postponed without end.
func explore(m model, do func(modelKey, modelCall) (modelKey, modelReply)) *exploration {
	g := &exploration{states: []modelState{{}}, parent: []int32{-1}, by: []string{""}, taken: make(map[string]bool)}
	index := map[modelState]int32{g.states[0]: 0}
	for i := 0; i < len(g.states) && g.what == ""; i++ {
		from := g.states[i]
		var fair []int32
		m.steps(do, from, func(st modelStep) {
			g.taken[st.what] = true
			to, known := index[st.to]
			if !known {
				to = int32(len(g.states))
				index[st.to] = to
				g.states, g.parent, g.by = append(g.states, st.to), append(g.parent, int32(i)), append(g.by, st.what)
			}
			if st.fair {
				fair = append(fair, to)
			}
			if what := violation(&from, &st, m.processes); what != "" && g.what == "" {
				g.found(what, int32(i), st.String())
			}
		})
		g.fair = append(g.fair, fair)
	}
	if g.what == "" {
		g.mustReach(neverServed,
			func(s *modelState) bool { return s.process(1).waits() },
			func(s *modelState) bool { return s.process(1).phase == phaseHolding })
	}
	if g.what == "" {
		g.mustReach(neverClean,
			func(*modelState) bool { return true },
			func(s *modelState) bool { return *s == modelState{} })
	}
	return g
}

// found notes a violation in a state, or in a step from there.
func (g *exploration) found(what string, i int32, step string) {
	path := []string{step}
	for ; i > 0; i = g.parent[i] {
		path = append(path, g.by[i])
	}
	slices.Reverse(path)
	g.what, g.trace = what, strings.Join(path, "\n\t")
}

// mustReach looks for a state from which fair steps do not lead to any goal.
func (g *exploration) mustReach(what string, from, goal func(*modelState) bool) {
	reaches := make([]bool, len(g.states))
	for changed := true; changed; {
		changed = false
		for i := len(g.states) - 1; i >= 0; i-- {
			if !reaches[i] && (goal(&g.states[i]) || slices.ContainsFunc(g.fair[i], func(to int32) bool { return reaches[to] })) {
				reaches[i], changed = true, true
			}
		}
	}
	for i := range g.states {
		if from(&g.states[i]) && !reaches[i] {
			g.found(what, int32(i), "")
			return
		}
	}
}

// violation returns the violation in a step, or in the state after it, or "".
func violation(from *modelState, st *modelStep, processes int) string {
	before, after := &from.key, &st.to.key
	if strings.HasPrefix(st.reply.answer, "-GONE") && from.process(st.call.owner).lives() {
		return liveRefused
	}
	for i := range st.to.processes[:processes] {
		o, p := modelOwner(i+1), &st.to.processes[i]
		if p.phase == phaseHolding && after.lock != o {
			return twoHolders
		}
		if p.phase == phaseGone && after.knows(o) {
			return leftBehind
		}
	}
	if after.lock != nobody && !after.plain && after.place(after.lock) >= 0 {
		return behindItself
	}
	if (st.call.op == opTry || st.call.op == opEnqueue) && st.reply.answer == "0" && after.lock == nobody {
		return keptFromFree
	}
	leaver := nobody
	if st.call.op == opRelease {
		leaver = st.call.owner
	}
	queue := slices.DeleteFunc(slices.Clone(before.waiting()), func(o modelOwner) bool { return o == leaver })
	if (after.lock != before.lock || before.plain) && after.lock != nobody && !after.plain && len(queue) > 0 && queue[0] != after.lock {
		return queueJumped
	}
	if st.call.op == opExpire || st.call.op == opEnd {
		return "" // the claim window, and the end of the queue, are for such owners
	}
	for i := range st.to.processes[:processes] {
		o := modelOwner(i + 1)
		if from.process(o).waits() && st.to.process(o).waits() && o != leaver && lostPlace(before, after, o) {
			return placeLost
		}
	}
	return ""
}

// lostPlace reports whether an owner that was behind o is now before it, or whether o
// is no longer in the queue.
func lostPlace(before, after *modelKey, o modelOwner) bool {
	switch {
	case !before.knows(o) || after.lock == o:
		return false
	case before.place(o) < 0 && before.plain:
		return false // a plain attempt took the lock, and its owner does not know it yet
	case !after.knows(o) || before.lock == o && !before.plain:
		return true
	}
	was := before.place(o)
	return slices.ContainsFunc(after.queue[:after.place(o)], func(other modelOwner) bool {
		p := before.place(other)
		return p < 0 || p > was
	})
}
