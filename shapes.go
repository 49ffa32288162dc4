package distlock

import (
	"log/slog"
	"sync"
)

// maxShapes limits how many names of locks a Locker remembers, in case a program makes them.
const maxShapes = 1000

// shapes notices locks of one Prefix + Value that never exclude each other, because their
// keys have different numbers of parameters.
type shapes struct {
	mu    sync.Mutex
	first map[string]shape // by Prefix + Value
}

// shape is the number of parameters that a name had first.
type shape struct {
	parts int
	by    *keyBuilder // a list that one site gives may have any length; nil: told already
}

// note logs, once for each name, that a key of one builder has another number of parameters
// than keys of another with the name.
func (n *shapes) note(name string, by *keyBuilder, parts int) {
	n.mu.Lock()
	first, known := n.first[name]
	differs := known && first.by != nil && first.by != by && first.parts != parts
	switch {
	case differs:
		n.first[name] = shape{}
	case !known && len(n.first) < maxShapes:
		if n.first == nil {
			n.first = map[string]shape{}
		}
		n.first[name] = shape{parts, by}
	}
	n.mu.Unlock()
	if differs {
		slog.Warn("distlock: locks of one Prefix and Value have different numbers of parameters and do not exclude each other",
			"name", name, "parameters", first.parts, "elsewhere", parts)
	}
}
