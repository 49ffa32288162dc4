package edges_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// lease is shorter than the default, so that a renewal that fails for long costs it.
const lease = 3 * time.Second

// quiet is how long nothing but renewals uses the connections that have died.
const quiet = 2 * time.Second

// edges has the columns of the table. Each returns its cell.
var edges = []struct {
	name string
	try  func(t *testing.T, r rig) string
}{
	{"the address moves", moves},
	{"connections die", die},
	{"a member is silent", silent},
	{"MinHold, then Close", kept},
}

// TestEdges prints a table of stores and edges. Fails if a lock that should stay is lost, if
// an operation does not recover in time, or if a key that MinHold keeps is free.
func TestEdges(t *testing.T) {
	testmode.Long(t)
	var mu sync.Mutex
	cells := make(map[string]string)
	t.Run("stores", func(t *testing.T) {
		for _, s := range stores {
			for _, e := range edges {
				t.Run(s.name+"/"+e.name, func(t *testing.T) {
					t.Parallel()
					cell := e.try(t, s.start(t))
					mu.Lock()
					defer mu.Unlock()
					cells[s.name+e.name] = cell
				})
			}
		}
	})
	var table strings.Builder
	row := func(name string, cell func(edge string) string) {
		fmt.Fprintf(&table, "| %s |", name)
		for _, e := range edges {
			fmt.Fprintf(&table, " %s |", cell(e.name))
		}
		table.WriteByte('\n')
	}
	row("store", func(edge string) string { return edge })
	row("---", func(string) string { return "---" })
	for _, s := range stores {
		row(s.name, func(edge string) string { return cells[s.name+edge] })
	}
	t.Log("\n" + table.String())
}

// open returns a Locker whose pool has some connections. Nothing is handed over, so each
// attempt asks the store.
func open(t *testing.T, r rig, w *wires) *distlock.Locker {
	t.Helper()
	l := testkit.NewLocker(t, r.open(t, w), distlock.Config{HandOverTime: -1})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := l.Do(t.Context(), fmt.Sprint(r.key, "warm", i), distlock.Opts{}, func(context.Context) error { return nil }); err != nil {
				t.Errorf("before the fault: %v", err)
			}
		})
	}
	all.Wait()
	return l
}

// recovers tries a free key until an attempt succeeds, and returns the lease and a text.
func recovers(t *testing.T, r rig, l *distlock.Locker, within time.Duration) (*distlock.Lease, string) {
	t.Helper()
	began := time.Now()
	for failed := 0; ; failed++ {
		got, err := l.TryAcquire(t.Context(), fmt.Sprint(r.key, "free", failed), distlock.Opts{KeyTimeout: lease})
		took := time.Since(began)
		switch {
		case err == nil && took <= within:
			return got, fmt.Sprintf("%.1f s, %d failed", took.Seconds(), failed)
		case took > within:
			t.Errorf("no free key after %v and %d attempts: %v", took, failed+1, err)
			return got, "FAILED"
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// stays returns whether the lease is valid after more than its length.
func stays(t *testing.T, name string, held *distlock.Lease) string {
	t.Helper()
	if held == nil {
		return name + " NONE"
	}
	time.Sleep(lease + lease/2)
	if err := held.Check(); err != nil {
		t.Errorf("%s lease: %v", name, err)
		return name + " LOST"
	}
	return name + " stays"
}

func moves(t *testing.T, r rig) string {
	if r.move == nil {
		return "–"
	}
	w := newWires()
	l := open(t, r, w)
	r.move(t, w)
	got, text := recovers(t, r, l, 2*opTimeout)
	return text + ", " + stays(t, "new", got)
}

func die(t *testing.T, r rig) string {
	w := newWires()
	l := open(t, r, w)
	held := testkit.MustAcquire(t, l, r.key+"held", distlock.Opts{KeyTimeout: lease})
	w.cut()
	time.Sleep(quiet)
	began := time.Now()
	_, err := l.TryAcquire(t.Context(), r.key+"first", distlock.Opts{KeyTimeout: lease})
	text := fmt.Sprintf("%.1f s", time.Since(began).Seconds())
	if err != nil {
		t.Errorf("the first attempt: %v", err)
		text += ", FAILED"
	}
	return text + ", " + stays(t, "held", held)
}

func silent(t *testing.T, r rig) string {
	if r.silence == nil {
		return "–"
	}
	w := newWires()
	l := open(t, r, w)
	held := testkit.MustAcquire(t, l, r.key+"held", distlock.Opts{})
	r.silence(t, w)
	_, text := recovers(t, r, l, 5*opTimeout)
	time.Sleep(distlock.DefaultKeyTimeout) // and a half of the lease of stays
	return text + ", " + stays(t, "held", held)
}

func kept(t *testing.T, r rig) string {
	const least = 8 * time.Second
	b := r.open(t, newWires())
	l := distlock.New(b, distlock.Config{})
	began := time.Now() // MinHold counts from the acquisition, which is later
	if err := l.Do(t.Context(), r.key+"job", distlock.Opts{MinHold: least}, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if c, ok := b.(io.Closer); ok {
		_ = c.Close() // Close of the Locker may have done it
	}
	other := testkit.NewLocker(t, r.open(t, newWires()), distlock.Config{})
	for {
		got, err := other.TryAcquire(t.Context(), r.key+"job", distlock.Opts{KeyTimeout: lease})
		after := time.Since(began)
		text := fmt.Sprintf("free after %.1f s", after.Seconds())
		switch {
		case err == nil && after < least:
			t.Errorf("the key is free after %v, want %v", after, least)
			return text + ", EARLY"
		case err == nil:
			_ = got.Release(t.Context())
			return text
		case after > 3*least: // until then, a busy store may leave an attempt without an answer
			t.Errorf("after %v: %v", after, err)
			return "FAILED"
		}
		time.Sleep(200 * time.Millisecond)
	}
}
