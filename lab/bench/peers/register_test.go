package main

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

func mapped(t *testing.T, path string) *register {
	t.Helper()
	r, unmap, err := openRegister(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unmap)
	return r
}

// Two mappings of one file are like two processes.
func TestRegisterIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "register")
	a, b := mapped(t, path), mapped(t, path)
	t0 := time.Unix(1_700_000_000, 0)
	at := func(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }

	a.enter(0, 7, at(0))
	a.leave(0, at(10))
	if h := b.enter(1, 8, at(12)); !h.other || h.after != 2*time.Millisecond {
		t.Errorf("from another process: %+v", h)
	}
	b.leave(1, at(20))
	if h := b.enter(1, 9, at(21)); h.other {
		t.Errorf("from the same process: %+v", h)
	}
	b.leave(1, at(30))

	if overlaps, backwards := a.violations(); overlaps != 0 || backwards != 0 {
		t.Errorf("%d overlaps, %d backwards", overlaps, backwards)
	}
	if held, span := a.utilisation(); held != 27*time.Millisecond || span != 30*time.Millisecond {
		t.Errorf("held %v of %v", held, span)
	}
	if got := a.shares(2); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("shares %v", got)
	}

	a.begin()
	if got := b.shares(2); !slices.Equal(got, []int64{0, 0}) {
		t.Errorf("shares %v after it began anew", got)
	}
	b.enter(0, 9, at(40)) // the last token is kept
	if _, backwards := a.violations(); backwards != 1 {
		t.Errorf("%d backwards", backwards)
	}
}

func TestRegisterFindsViolations(t *testing.T) {
	for name, test := range map[string]struct {
		do                  func(r *register, now time.Time)
		overlaps, backwards int64
	}{
		"in turns": {func(r *register, now time.Time) {
			r.enter(0, 1, now)
			r.leave(0, now)
			r.enter(1, 2, now)
			r.leave(1, now)
		}, 0, 0},
		"no tokens": {func(r *register, now time.Time) {
			r.enter(0, 0, now)
			r.leave(0, now)
			r.enter(1, 0, now)
		}, 0, 0},
		"two at once": {func(r *register, now time.Time) {
			r.enter(0, 1, now)
			r.enter(1, 2, now)
			r.leave(0, now)
			r.leave(1, now)
			r.enter(0, 3, now)
		}, 1, 0},
		"the same token": {func(r *register, now time.Time) {
			r.enter(0, 5, now)
			r.leave(0, now)
			r.enter(1, 5, now)
		}, 0, 1},
		"a lower token": {func(r *register, now time.Time) {
			r.enter(0, 5, now)
			r.leave(0, now)
			r.enter(0, 4, now)
		}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := new(register)
			test.do(r, time.Now())
			if overlaps, backwards := r.violations(); overlaps != test.overlaps || backwards != test.backwards {
				t.Errorf("%d overlaps and %d backwards instead of %d and %d", overlaps, backwards, test.overlaps, test.backwards)
			}
		})
	}
}

// A real lock causes no violation, however many goroutines there are.
func TestRegisterUnderMutex(t *testing.T) {
	r := new(register)
	var mu sync.Mutex
	var token uint64
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			for range 1000 {
				mu.Lock()
				token++
				r.enter(p, token, time.Now())
				r.leave(p, time.Now())
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if overlaps, backwards := r.violations(); overlaps != 0 || backwards != 0 {
		t.Errorf("%d overlaps, %d backwards", overlaps, backwards)
	}
	if got := r.shares(4); !slices.Equal(got, []int64{1000, 1000, 1000, 1000}) {
		t.Errorf("shares %v", got)
	}
}
