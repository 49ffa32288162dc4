package locktest

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
)

// Order returns hooks for a Locker that fail the test when locks are nested in two orders:
// B is taken under A, and elsewhere A under B. Then two callers can wait for each other for
// ever, although no test has met that. It also finds longer circles. All tests of a process
// count together.
//
// A lock is under another one if its context is below that of the other's lease, or if its
// goroutine has taken the other one and holds it. Locks are told apart by Event.Name, which
// is Opts.Prefix + Opts.Value, and those without a name or with the same name by their keys.
// Readers and permits count, because they wait behind others. A re-entry and
// [distlock.Locker.TryAcquire] do not wait, so they are under nothing. Of RetryCount 1 hooks
// are not told: it counts.
func Order(t testing.TB) distlock.Hooks {
	t.Helper()
	var once sync.Once
	return distlock.Hooks{NoWaiting: true, Start: func(ctx context.Context, e distlock.Event) context.Context {
		n := &nest{class: e.Name, key: e.Key, goroutine: goroutine()}
		if n.class == "unnamed" {
			n.class = n.key
		}
		if _, ok := distlock.FromContext(ctx); ok { // not below Detach
			n.outer, _ = ctx.Value(nestKey{}).(*nest)
		}
		_, again := distlock.Held(ctx, e.Key)
		var tried bool
		if n.place, tried = caller(); !tried && !again {
			if circle := nested.begin(n); circle != "" {
				once.Do(func() {
					t.Errorf("locktest: locks are nested in two orders, so two callers can wait for each other:%s", circle)
				})
			}
		}
		return context.WithValue(ctx, nestKey{}, n)
	}, Event: func(ctx context.Context, e distlock.Event) {
		if n, ok := ctx.Value(nestKey{}).(*nest); ok {
			nested.happened(n, e.Kind)
		}
	}}
}

// nest is a lock that is taken. It is in the context of its lease.
type nest struct {
	outer             *nest // in the context that it was taken with
	class, key, place string
	goroutine         string
}

type nestKey struct{}

// String says which lock it is, and where it is taken.
func (n *nest) String() string { return fmt.Sprintf("%s (key %s) at %s", n.class, n.key, n.place) }

func (n *nest) below(outer *nest) bool { return n != nil && (n == outer || n.outer.below(outer)) }

// nested is what the process has seen.
var nested = nests{orders: make(map[string]map[string]string)}

type nests struct {
	mu     sync.Mutex
	held   []*nest
	orders map[string]map[string]string // how one lock was taken under another, the first time
}

// begin notes that n is waited for. It returns the text of a circle, or "".
func (s *nests) begin(n *nest) (circle string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, outer := range s.held {
		if outer.key == n.key || outer.goroutine != n.goroutine && !n.below(outer) {
			continue
		}
		from, to := outer.class, n.class
		if from == to {
			from, to = outer.key, n.key
		}
		if s.orders[from] == nil {
			s.orders[from] = make(map[string]string)
		}
		if s.orders[from][to] != "" {
			continue
		}
		how := fmt.Sprintf("\n\t%v\n\t\tis taken under %v", n, outer)
		if back := s.path(to, from, make(map[string]bool)); back != "" {
			circle += back + how
		} else {
			s.orders[from][to] = how
		}
	}
	return circle
}

// path returns how one lock came to be taken under another, or "".
func (s *nests) path(from, to string, seen map[string]bool) (how string) {
	if how = s.orders[from][to]; how != "" {
		return how
	}
	seen[from] = true
	for next, how := range s.orders[from] {
		if !seen[next] {
			if rest := s.path(next, to, seen); rest != "" {
				return how + rest
			}
		}
	}
	return ""
}

// happened notes what became of n.
func (s *nests) happened(n *nest, kind distlock.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch kind {
	case distlock.Acquired:
		s.held = append(s.held, n)
	case distlock.Released, distlock.Lost:
		s.held = slices.DeleteFunc(s.held, func(h *nest) bool { return h == n })
	}
}

// goroutine returns what tells the caller's goroutine from others, such as "goroutine 7".
func goroutine() string {
	text := make([]byte, 64)
	id, _, _ := bytes.Cut(text[:runtime.Stack(text, false)], []byte(" ["))
	return string(id)
}

// caller returns the place outside of this library from which a hook is called, and whether
// that is below TryAcquire.
func caller() (place string, tried bool) {
	const library = "github.com/distlock-go/distlock"
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		tried = tried || f.Function == library+".(*Locker).TryAcquire"
		if !more || !strings.HasPrefix(f.Function, library) || strings.HasSuffix(f.File, "_test.go") {
			return fmt.Sprintf("%s:%d", f.File, f.Line), tried
		}
	}
}
