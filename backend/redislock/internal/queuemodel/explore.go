package queuemodel

import (
	"fmt"
	"strings"
)

// Violation is a violation and a shortest path to it.
type Violation struct {
	What  string
	Trace []string
}

func (v *Violation) String() string {
	return v.What + ":\n\t" + strings.Join(v.Trace, "\n\t")
}

// Graph has all reachable states, each once, nearest first.
type Graph struct {
	Model
	States []State
	parent []int32

	// Fair steps of state i lead to fair[from[i]:from[i+1]].
	fair []int32
	from []int32
}

// Explore visits all states, and calls visit, if it is not nil, with every possible
// step. It stops at the first violation.
func Explore(m Model, visit func(State, Step)) (*Graph, *Violation) {
	g := &Graph{Model: m, States: []State{{}}, parent: []int32{-1}}
	index := map[key]int32{g.States[0].key(m.Processes): 0}
	var v *Violation
	for i := 0; i < len(g.States) && v == nil; i++ {
		s := g.States[i]
		g.from = append(g.from, int32(len(g.fair)))
		m.Steps(s, func(st Step) {
			if visit != nil {
				visit(s, st)
			}
			what := s.brokenBy(&st, m.Processes)
			if what == "" {
				what = st.To.broken(m.Processes)
			}
			if what != "" && v == nil {
				v = &Violation{what, append(g.trace(int32(i)), st.String())}
			}
			k := st.To.key(m.Processes)
			to, known := index[k]
			if !known {
				to = int32(len(g.States))
				index[k] = to
				g.States, g.parent = append(g.States, st.To), append(g.parent, int32(i))
			}
			if st.Fair {
				g.fair = append(g.fair, to)
			}
		})
	}
	g.from = append(g.from, int32(len(g.fair)))
	if v == nil {
		v = g.unserved()
	}
	if v == nil {
		v = g.unclean()
	}
	return g, v
}

// trace returns the path to a state.
func (g *Graph) trace(i int32) []string {
	parent := g.parent[i]
	if parent < 0 {
		return nil
	}
	before := g.trace(parent)
	what := ""
	g.Steps(g.States[parent], func(st Step) {
		if what == "" && st.To == g.States[i] {
			what = st.String()
		}
	})
	return append(before, what)
}

func (st Step) String() string {
	var b strings.Builder
	if st.Call.Owner != Nobody {
		fmt.Fprint(&b, "process ", st.Call.Owner, " ")
	}
	b.WriteString(st.What)
	switch st.Reply.Answer {
	case Granted:
		if st.Call.Op != Release {
			b.WriteString(": granted")
		}
	case Held:
		if st.Call.Op != Release {
			b.WriteString(": held")
		}
	case Refused:
		b.WriteString(": refused")
	}
	if st.Reply.Told != Nobody {
		fmt.Fprint(&b, "; the lock is passed on to ", st.Reply.Told)
	}
	return b.String()
}
