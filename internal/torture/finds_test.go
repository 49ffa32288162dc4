package torture

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// ms is the unit of the hand-made histories.
const ms = int64(time.Millisecond)

// tale is a history that is told by hand.
type tale struct{ h *history }

func newTale() *tale {
	return &tale{&history{
		Keys: 1, Pauses: make(map[string][]window), Ends: map[string]farewell{"0.0": {Said: true}, "1.0": {Said: true}},
	}}
}

// held is a lease that was asked for, granted and confirmed as told, in
// milliseconds, and not released yet.
func (s *tale) held(proc string, token uint64, call, ret, until int64) *lease {
	l := &lease{
		Proc: proc, Number: uint64(len(s.h.Leases)), Token: token, Until: until * ms, Sent: call * ms,
		Acquire: operation{Call: call * ms, Return: ret * ms, Outcome: ok},
	}
	s.h.Leases = append(s.h.Leases, l)
	return l
}

func (l *lease) wrote(o outcome, call, ret int64) *lease {
	l.Writes = append(l.Writes, &operation{Call: call * ms, Return: ret * ms, Outcome: o})
	return l
}

func (l *lease) released(o outcome, call, ret int64) *lease {
	l.Release = &operation{Call: call * ms, Return: ret * ms, Outcome: o}
	l.Expired = l.Until < call*ms
	if o == unknown {
		l.Release.Return = never
	}
	return l
}

// quiet is a history in which nothing is wrong: two processes take turns, one of
// them passes the key on among its workers.
func quiet() *tale {
	s := newTale()
	s.held("0.0", 10, 0, 2, 1000).wrote(ok, 3, 4).released(ok, 5, 6)
	next := s.held("0.0", 11, 1, 6, 1000).wrote(ok, 7, 8).wrote(ok, 8, 9).released(ok, 10, 12)
	next.Handed = true
	s.held("1.0", 30, 3, 12, 1011).wrote(ok, 13, 14).released(ok, 15, 16)
	return s
}

// TestCheckerFinds shows that each promise that is broken is found by the check
// that is there for it, also where the history is cut in pieces. A check that
// was never seen to fail proves nothing.
func TestCheckerFinds(t *testing.T) {
	for name, c := range map[string]struct {
		by   []string
		tell func() *tale
	}{
		"TwoHolders": {[]string{"overlap", "told", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).released(ok, 40, 41)
			s.held("1.0", 50, 30, 31, 1030).released(ok, 50, 51)
			return s
		}},
		"TwoHoldersOneOfThemDead": {[]string{"overlap", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020) // until when nobody may have the key
			s.held("1.0", 50, 30, 900, 1880).released(ok, 910, 911)
			return s
		}},
		"TwoHoldersInOneProcess": {[]string{"overlap", "told", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).released(ok, 40, 41)
			s.held("0.0", 41, 22, 39, 1020).released(ok, 50, 51).Handed = true
			return s
		}},
		"TokenRepeated": {[]string{"tokens", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 30, 20, 21, 1020).released(ok, 22, 23)
			return s
		}},
		"TokenFalls": {[]string{"tokens", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 29, 20, 21, 1020).released(ok, 22, 23)
			return s
		}},
		"TokenFallsAfterLossOfData": {[]string{"tokens", "model"}, func() *tale {
			s := quiet()
			s.h.Losses = []window{{18 * ms, 19 * ms}}
			s.held("0.0", 29, 20, 21, 1020).released(ok, 22, 23)
			return s
		}},
		"NoToken": {[]string{"documented", "model"}, func() *tale {
			s := newTale()
			s.held("0.0", 0, 20, 21, 1020).released(ok, 22, 23)
			return s
		}},
		"StaleWriteAccepted": {[]string{"model"}, func() *tale {
			s := quiet()
			s.h.Leases[1].wrote(ok, 20, 21) // a token of 11 after one of 30
			return s
		}},
		"GoodWriteRefused": {[]string{"refused", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).wrote(failed, 22, 23).released(ok, 24, 25)
			return s
		}},
		"ReleaseByAnother": {[]string{"overlap", "told", "model"}, func() *tale {
			s := quiet()
			// It knows that its lease is over, but its release lets in the next.
			s.held("1.0", 35, 17, 18, 19).released(failed, 30, 31)
			s.held("0.0", 40, 20, 21, 1020).released(ok, 200, 201)
			s.held("1.0", 50, 30, 32, 1030).released(ok, 40, 41)
			return s
		}},
		"ReleaseOfNothing": {[]string{"told", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 30).released(ok, 50, 51)
			s.held("1.0", 50, 30, 35, 1030).released(ok, 38, 39)
			return s
		}},
		"LostWithoutBeingTold": {[]string{"told"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1000).released(failed, 5000, 5001)
			return s
		}},
		"NeverServed": {[]string{"served"}, func() *tale {
			s := quiet()
			s.h.Workers = []string{"0.0/0"}
			return s
		}},
		"WaitsForEver": {[]string{"served"}, func() *tale {
			s := quiet()
			s.h.Leases = append(s.h.Leases, &lease{Proc: "0.0", Acquire: operation{Call: 5 * ms, Return: never, Outcome: unknown}})
			return s
		}},
		"UndocumentedError": {[]string{"documented"}, func() *tale {
			s := quiet()
			s.h.Leases = append(s.h.Leases, &lease{Proc: "0.0", Acquire: operation{Outcome: undocumented, Err: "EOF"}})
			return s
		}},
		"GoroutineLeft": {[]string{"ends"}, func() *tale {
			s := quiet()
			s.h.Ends["0.0"] = farewell{Said: true, Err: "found unexpected goroutines"}
			return s
		}},
		"ProcessCrashed": {[]string{"ends"}, func() *tale {
			s := quiet()
			s.h.Ends["0.0"] = farewell{}
			return s
		}},
		"KeyLeft": {[]string{"empty"}, func() *tale {
			s := quiet()
			s.h.Left = []string{"a queue"}
			return s
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, pieceSize} {
				s := c.tell()
				s.h.findOrphans()
				var found []string
				vs, _ := s.h.violations(size)
				for _, v := range vs {
					found = append(found, v.Check)
				}
				slices.Sort(found)
				slices.Sort(c.by)
				if found = slices.Compact(found); !slices.Equal(found, c.by) {
					t.Errorf("in pieces of %d: found by %q, want %q", size, found, c.by)
				}
			}
		})
	}
}

// TestCheckerAccepts shows that what may happen under faults is no violation.
func TestCheckerAccepts(t *testing.T) {
	for name, tell := range map[string]func() *tale{
		"Quiet": quiet,
		"ExpiredAfterPause": func() *tale {
			s := quiet()
			s.h.Pauses["0.0"] = []window{{25 * ms, 4000 * ms}}
			stopped := s.held("0.0", 40, 20, 21, 1000)
			s.held("1.0", 50, 30, 1005, 2000).wrote(ok, 1006, 1007).released(ok, 1010, 1011)
			stopped.wrote(failed, 4001, 4002).released(failed, 4010, 4011)
			return s
		},
		"PausedHolderWritesUnopposed": func() *tale {
			s := quiet()
			s.h.Pauses["0.0"] = []window{{25 * ms, 4000 * ms}}
			s.held("0.0", 40, 20, 21, 1000).wrote(ok, 4001, 4002).released(failed, 4010, 4011)
			return s
		},
		"KilledHolder": func() *tale {
			s := quiet()
			delete(s.h.Ends, "0.0")
			s.held("0.0", 40, 20, 21, 1000)
			s.held("1.0", 50, 30, 1020, 2000).released(ok, 1030, 1031)
			return s
		},
		"UnknownReleaseApplied": func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1000).released(unknown, 25, 0)
			s.held("1.0", 50, 24, 30, 1020).released(ok, 31, 32)
			return s
		},
		"UnknownReleaseNotApplied": func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1000).released(unknown, 25, 0)
			s.held("1.0", 50, 24, 1010, 2000).released(ok, 1011, 1012)
			return s
		},
		"UnknownWriteApplied": func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1000).wrote(unknown, 22, never/ms)
			s.h.Leases[2].wrote(failed, 30, 31)
			delete(s.h.Ends, "0.0")
			return s
		},
		"UnknownWriteNotApplied": func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1000).wrote(unknown, 22, never/ms)
			s.h.Leases[2].wrote(ok, 30, 31)
			delete(s.h.Ends, "0.0")
			return s
		},
		"UnknownAcquisition": func() *tale {
			s := quiet()
			delete(s.h.Ends, "0.0")
			s.h.Leases = append(s.h.Leases, &lease{Proc: "0.0", Acquire: operation{Call: 20 * ms, Return: never, Outcome: unknown}})
			s.held("1.0", 50, 21, 22, 1020).released(ok, 30, 31)
			return s
		},
		"TwoHoldersAfterLossOfData": func() *tale {
			s := quiet()
			s.h.Losses = []window{{22 * ms, 30 * ms}}
			s.held("0.0", 40, 20, 21, 1000).wrote(ok, 35, 36).wrote(failed, 45, 46).released(ok, 50, 51)
			s.held("0.0", 41, 21, 52, 1000).wrote(failed, 53, 54).released(failed, 60, 61).Handed = true
			s.held("1.0", 80, 31, 40, 1040).wrote(ok, 41, 42).released(ok, 70, 71)
			return s
		},
		"AcquisitionsOverlap": func() *tale {
			s := newTale()
			s.held("0.0", 40, 0, 50, 1000).released(ok, 51, 52)
			s.held("1.0", 30, 0, 20, 1000).released(ok, 21, 40)
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, pieceSize} {
				s := tell()
				s.h.findOrphans()
				vs, _ := s.h.violations(size)
				for _, v := range vs {
					t.Errorf("in pieces of %d: %s: %s", size, v.Check, v.What)
				}
			}
		})
	}
}

// TestPicture shows that porcupine draws what it found.
func TestPicture(t *testing.T) {
	s := quiet()
	s.held("0.0", 29, 20, 21, 1020).released(ok, 22, 23) // the token falls
	found, _ := checkModel(s.h, pieceSize)
	if len(found) != 1 {
		t.Fatalf("%d violations", len(found))
	}
	path, err := found[0].draw(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "acquire 29") {
		t.Errorf("the picture has %d bytes without the operation: %v", len(text), err)
	}
}
