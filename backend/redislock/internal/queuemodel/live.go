package queuemodel

// watched is the process for which liveness is checked.
const watched Owner = 1

// unserved looks for a state with a waiter that cannot be served.
func (g *Graph) unserved() *Violation {
	return g.mustReach(NeverServed,
		func(s *State) bool { return s.process(watched).waits() },
		func(s *State) bool { return s.process(watched).Phase == Holding })
}

// unclean looks for a state from which the first state cannot be reached.
func (g *Graph) unclean() *Violation {
	return g.mustReach(NeverClean,
		func(*State) bool { return true },
		func(s *State) bool { return *s == State{} })
}

// mustReach looks for a state from which fair steps do not lead to any goal. It returns
// the first one, which is one of the nearest.
func (g *Graph) mustReach(what string, from, goal func(*State) bool) *Violation {
	reaches := g.backward(goal)
	for i := range g.States {
		if from(&g.States[i]) && !reaches[i] {
			return &Violation{what, g.trace(int32(i))}
		}
	}
	return nil
}

// backward returns for each state whether fair steps lead from it to a goal.
func (g *Graph) backward(goal func(*State) bool) []bool {
	// The fair steps to state i come from back[first[i]:first[i+1]].
	first := make([]int32, len(g.States)+1)
	for _, to := range g.fair {
		first[to+1]++
	}
	for i := range g.States {
		first[i+1] += first[i]
	}
	back, next := make([]int32, len(g.fair)), append([]int32(nil), first...)
	for i := range g.States {
		for _, to := range g.fair[g.from[i]:g.from[i+1]] {
			back[next[to]] = int32(i)
			next[to]++
		}
	}

	reaches := make([]bool, len(g.States))
	var todo []int32
	reach := func(i int32) {
		if !reaches[i] {
			reaches[i] = true
			todo = append(todo, i)
		}
	}
	for i := range g.States {
		if goal(&g.States[i]) {
			reach(int32(i))
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, b := range back[first[i]:first[i+1]] {
			reach(b)
		}
	}
	return reaches
}
