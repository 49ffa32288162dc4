package torture

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestCheckerFinds checks that each broken promise is found by its check, also in a
// history that is cut into pieces. A check that has never failed proves nothing.
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
			s.held("0.0", 40, 20, 21, 1020) // the key is taken until then
			s.held("1.0", 50, 30, 900, 1880).released(ok, 910, 911)
			return s
		}},
		"TwoHoldersInOneProcess": {[]string{"overlap", "inside", "told", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).released(ok, 40, 41)
			s.held("0.0", 41, 22, 39, 1020).released(ok, 50, 51).handedBy(s.h.Leases[3])
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
			s.h.Leases[1].used(ok, 20, 21) // token 11 after token 30
			return s
		}},
		"GoodWriteRefused": {[]string{"refused", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).used(failed, 22, 23).released(ok, 24, 25)
			return s
		}},
		"ReleaseByAnother": {[]string{"overlap", "told", "model"}, func() *tale {
			s := quiet()
			// The process knows that its lease is over, but its release frees the key
			// of another.
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
		"ReaderBesideWriter": {[]string{"overlap", "told", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).released(ok, 40, 41)
			s.held("1.0", 50, 30, 31, 1030).released(ok, 50, 51).shared()
			return s
		}},
		"WriterBesideOneOfTwoReaders": {[]string{"overlap", "told", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).shared()
			s.held("0.0", 41, 20, 22, 1020).released(ok, 40, 41).shared().handedBy(s.h.Leases[3])
			s.held("1.0", 50, 30, 31, 1030).released(ok, 50, 51)
			return s
		}},
		"ReaderBesidePermit": {[]string{"overlap", "told", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).released(ok, 40, 41).permit(2)
			s.held("1.0", 50, 30, 31, 1030).released(ok, 50, 51).shared()
			return s
		}},
		"OnePermitTooMany": {[]string{"overlap", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).released(ok, 40, 41).permit(2)
			s.held("1.0", 41, 20, 22, 1020).released(ok, 40, 41).permit(2)
			s.held("1.0", 50, 30, 31, 1030).released(ok, 50, 51).permit(2)
			return s
		}},
		"TwoInsideAfterLoss": {[]string{"inside"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 30).released(failed, 60, 61)
			s.held("0.0", 50, 22, 35, 1030).released(ok, 40, 41)
			return s
		}},
		"OneInsideForEver": {[]string{"inside"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 30)
			s.held("0.0", 50, 22, 35, 1030).released(ok, 40, 41)
			return s
		}},
		"WriterInsideBesideReaderAfterLoss": {[]string{"inside"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 30).released(failed, 60, 61).shared()
			s.held("0.0", 50, 22, 35, 1030).released(ok, 40, 41)
			return s
		}},
		"OnePermitTooManyInsideAfterLoss": {[]string{"inside"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 30).released(failed, 60, 61).permit(2)
			s.held("0.0", 41, 22, 35, 1030).released(ok, 60, 61).permit(2)
			s.held("0.0", 50, 22, 36, 1030).released(ok, 60, 61).permit(2)
			return s
		}},
		"MinHoldCutShort": {[]string{"kept", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1000).released(ok, 25, 26).keeping(500)
			s.held("1.0", 50, 24, 100, 1020).released(ok, 110, 111)
			return s
		}},
		"MinHoldAfterAWaitCutShort": {[]string{"kept", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 401, 1000).released(ok, 405, 406).keeping(500).Sent = 400 * ms
			s.held("1.0", 50, 24, 600, 1020).released(ok, 610, 611)
			return s
		}},
		"MinHoldBeyondTheLeaseCutShort": {[]string{"kept", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1000).released(ok, 25, 26).keeping(1900)
			s.held("1.0", 50, 24, 1050, 2020).released(ok, 1110, 1111)
			return s
		}},
		"MinHoldOfReaderCutShort": {[]string{"kept", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1000).released(ok, 25, 26).shared().keeping(500)
			s.held("1.0", 45, 24, 50, 1020).released(ok, 60, 61).shared()
			s.held("1.0", 50, 24, 100, 1020).released(ok, 110, 111)
			return s
		}},
		"MinHoldOfPermitCutShort": {[]string{"kept", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1000).released(ok, 25, 26).permit(2).keeping(500)
			s.held("0.0", 41, 20, 22, 1000).released(ok, 125, 126).permit(2)
			s.held("1.0", 50, 24, 100, 1020).released(ok, 110, 111).permit(2)
			return s
		}},
		"MinHoldOfHandedCutShort": {[]string{"kept", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1000).released(ok, 25, 26)
			s.held("0.0", 41, 24, 26, 1000).released(ok, 30, 31).keeping(500).handedBy(s.h.Leases[3])
			s.held("1.0", 50, 24, 521, 1020).released(ok, 530, 531)
			return s
		}},
		"MinHoldInSetCutShort": {[]string{"kept", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 100, 1500).released(ok, 101, 102).inSet(7).keeping(500)
			s.held("1.0", 50, 24, 510, 1420).released(ok, 520, 521)
			return s
		}},
		"SetInParts": {[]string{"sets"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).inSet(7)
			s.refused("0.0", 20, 21).inSet(7)
			return s
		}},
		"RefusedSetKeepsAKey": {[]string{"sets"}, func() *tale {
			s := quiet()
			s.refused("0.0", 20, 21).inSet(7).Kept = 1
			s.refused("0.0", 20, 21).inSet(7).Kept = 1
			return s
		}},
		"TwoLeaders": {[]string{"overlap", "told", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).released(ok, 40, 41).leading()
			s.held("1.0", 50, 30, 31, 1030).released(ok, 50, 51).leading()
			return s
		}},
		"TermFalls": {[]string{"tokens", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).leading()
			s.held("0.0", 39, 30, 31, 1030).released(ok, 32, 33).leading()
			return s
		}},
		"TokenRepeatedBesideEachOther": {[]string{"tokens"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).released(ok, 30, 31).shared()
			s.held("1.0", 40, 20, 22, 1020).released(ok, 30, 31).shared()
			return s
		}},
		"TokenFallsFromWriterToReader": {[]string{"tokens", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 29, 20, 21, 1020).released(ok, 22, 23).shared()
			return s
		}},
		"TokenFallsFromReaderToWriter": {[]string{"tokens", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).shared()
			s.held("1.0", 39, 30, 31, 1030).released(ok, 32, 33)
			return s
		}},
		"TokenFallsFromPermitToReader": {[]string{"tokens", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).permit(2)
			s.held("1.0", 39, 30, 31, 1030).released(ok, 32, 33).shared()
			return s
		}},
		"StaleReadAccepted": {[]string{"model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 30).shared()
			s.held("1.0", 50, 31, 32, 1020).used(ok, 33, 34).released(ok, 40, 41)
			s.h.Leases[3].used(ok, 50, 51).released(failed, 52, 53)
			return s
		}},
		"GoodReadRefused": {[]string{"refused", "model"}, func() *tale {
			s := quiet()
			s.held("0.0", 40, 20, 21, 1020).used(failed, 22, 23).released(ok, 24, 25).shared()
			return s
		}},
		"SetNeverServed": {[]string{"served"}, func() *tale {
			s := quiet()
			s.h.Workers = []string{"0.0/0"}
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).Healed = true
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

// TestPicture checks that porcupine draws a violation.
func TestPicture(t *testing.T) {
	s := quiet()
	s.held("0.0", 29, 20, 21, 1020).released(ok, 22, 23) // the token decreases
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
