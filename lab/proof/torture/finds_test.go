package torture

import (
	"slices"
	"testing"
)

// TestCheckerFinds checks that each broken promise is found by its check, also in a
// history that is cut into pieces. A check that has never failed proves nothing.
func TestCheckerFinds(t *testing.T) {
	for name, c := range map[string]struct {
		by   []string
		tell func(s *tale)
	}{
		"TwoHolders": {[]string{"overlap", "model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 40, 41)
			s.held("1.0", 50, 30, 31, 1030).released(ok, 50, 51)
		}},
		"TwoHoldersOneOfThemDead": {[]string{"overlap", "model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020) // the key is taken until then
			s.held("1.0", 50, 30, 900, 1880).released(ok, 910, 911)
		}},
		"TwoHoldersInOneProcess": {[]string{"overlap", "inside", "model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 40, 41)
			s.held("0.0", 41, 22, 39, 1020).released(ok, 50, 51).handedBy(s.h.Leases[3])
		}},
		"TokenRepeated": {[]string{"tokens", "model"}, func(s *tale) {
			s.held("0.0", 30, 20, 21, 1020).released(ok, 22, 23)
		}},
		"TokenFalls": {[]string{"tokens", "model"}, func(s *tale) {
			s.held("0.0", 29, 20, 21, 1020).released(ok, 22, 23)
		}},
		"NoToken": {[]string{"documented", "model"}, func(s *tale) {
			*s = *newTale()
			s.held("0.0", 0, 20, 21, 1020).released(ok, 22, 23)
		}},
		"StaleWriteAccepted": {[]string{"model"}, func(s *tale) {
			s.h.Leases[1].used(ok, 20, 21) // token 11 after token 30
		}},
		"GoodWriteRefused": {[]string{"model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).used(failed, 22, 23).released(ok, 24, 25)
		}},
		"ReleaseByAnother": {[]string{"overlap", "model"}, func(s *tale) {
			// The process knows that its lease is over, but its release frees the key
			// of another.
			s.held("1.0", 35, 17, 18, 19).released(failed, 30, 31)
			s.held("0.0", 40, 20, 21, 1020).released(ok, 200, 201)
			s.held("1.0", 50, 30, 32, 1030).released(ok, 40, 41)
		}},
		"ReleaseOfNothing": {[]string{"told", "model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 30).released(ok, 50, 51)
			s.held("1.0", 50, 30, 35, 1030).released(ok, 38, 39)
		}},
		"HandedOverAfterAnother": {[]string{"model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 30)
			s.held("1.0", 41, 22, 24, 1020).released(ok, 25, 26)
			s.held("0.0", 42, 22, 29, 1020).released(ok, 32, 33).handedBy(s.h.Leases[3])
		}},
		"ReaderJoinsAfterWriter": {[]string{"model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).shared()
			s.held("1.0", 41, 22, 24, 1020).released(ok, 25, 26)
			s.held("0.0", 42, 22, 29, 1020).released(ok, 32, 33).shared().handedBy(s.h.Leases[3])
		}},
		"TwoInsideWithOnePermit": {[]string{"model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 40, 41).permit(2)
			s.held("0.0", 41, 22, 29, 1020).released(ok, 32, 33).permit(2).handedBy(s.h.Leases[3])
		}},
		"PermitHandedOverWithEarlierToken": {[]string{"model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).permit(2)
			s.held("0.0", 39, 22, 24, 1020).released(ok, 32, 33).permit(2).handedBy(s.h.Leases[3])
		}},
		"OwnerGrantedTwice": {[]string{"model"}, func(s *tale) { // by an attempt that came after the release
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23)
			s.held("0.0", 50, 24, 25, 1020).released(ok, 32, 33).Grant = s.h.Leases[3].Grant
		}},
		"RenewedAfterRelease": {[]string{"model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).renewed(25, 26)
		}},
		"DeniedWhileHeld": {[]string{"model"}, func(s *tale) {
			l := s.held("0.0", 40, 20, 21, 1020).released(failed, 30, 31)
			l.LostSeen = 25 * ms
		}},
		"LostWithoutBeingTold": {[]string{"told"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1000).released(failed, 5000, 5001)
		}},
		"ReaderBesideWriter": {[]string{"overlap", "model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 40, 41)
			s.held("1.0", 50, 30, 31, 1030).released(ok, 50, 51).shared()
		}},
		"ReaderBesidePermit": {[]string{"overlap", "model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 40, 41).permit(2)
			s.held("1.0", 50, 30, 31, 1030).released(ok, 50, 51).shared()
		}},
		"OnePermitTooMany": {[]string{"overlap", "model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 40, 41).permit(2)
			s.held("1.0", 41, 20, 22, 1020).released(ok, 40, 41).permit(2)
			s.held("1.0", 50, 30, 31, 1030).released(ok, 50, 51).permit(2)
		}},
		"TwoInsideAfterLoss": {[]string{"inside"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 30).released(failed, 60, 61)
			s.held("0.0", 50, 22, 35, 1030).released(ok, 40, 41)
		}},
		"OneInsideForEver": {[]string{"inside"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 30)
			s.held("0.0", 50, 22, 35, 1030).released(ok, 40, 41)
		}},
		"WriterInsideBesideReaderAfterLoss": {[]string{"inside"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 30).released(failed, 60, 61).shared()
			s.held("0.0", 50, 22, 35, 1030).released(ok, 40, 41)
		}},
		"MinHoldCutShort": {[]string{"model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1000).released(ok, 25, 26).keeping(500)
			s.held("1.0", 50, 24, 100, 1020).released(ok, 110, 111)
		}},
		"MinHoldOfReaderCutShort": {[]string{"model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1000).released(ok, 25, 26).shared().keeping(500)
			s.held("1.0", 45, 24, 50, 1020).released(ok, 60, 61).shared()
			s.held("1.0", 50, 24, 100, 1020).released(ok, 110, 111)
		}},
		"MinHoldOfHandedCutShort": {[]string{"model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1000).released(ok, 25, 26)
			s.held("0.0", 41, 24, 26, 1000).released(ok, 30, 31).keeping(500).handedBy(s.h.Leases[3])
			s.held("1.0", 50, 24, 521, 1020).released(ok, 530, 531)
		}},
		"MinHoldInSetCutShort": {[]string{"model"}, func(s *tale) {
			s.held("0.0", 40, 20, 100, 1500).released(ok, 101, 102).inSet(7).keeping(500)
			s.held("1.0", 50, 24, 510, 1420).released(ok, 520, 521)
		}},
		"SetInParts": {[]string{"sets"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).inSet(7)
			s.refused("0.0", 20, 21).inSet(7)
		}},
		"RefusedSetKeepsAKey": {[]string{"sets"}, func(s *tale) {
			s.refused("0.0", 20, 21).inSet(7).Kept = 1
			s.refused("0.0", 20, 21).inSet(7).Kept = 1
		}},
		"TermFalls": {[]string{"tokens", "model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).leading()
			s.held("0.0", 39, 30, 31, 1030).released(ok, 32, 33).leading()
		}},
		"TokenRepeatedBesideEachOther": {[]string{"tokens"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 30, 31).shared()
			s.held("1.0", 40, 20, 22, 1020).released(ok, 30, 31).shared()
		}},
		"TokenFallsFromWriterToReader": {[]string{"tokens", "model"}, func(s *tale) {
			s.held("0.0", 29, 20, 21, 1020).released(ok, 22, 23).shared()
		}},
		"TokenFallsFromReaderToWriter": {[]string{"tokens", "model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).shared()
			s.held("1.0", 39, 30, 31, 1030).released(ok, 32, 33)
		}},
		"StaleReadAccepted": {[]string{"model"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 30).shared()
			s.held("1.0", 50, 31, 32, 1020).used(ok, 33, 34).released(ok, 40, 41)
			s.h.Leases[3].used(ok, 50, 51).released(failed, 52, 53)
		}},
		"SetNeverServed": {[]string{"served"}, func(s *tale) {
			s.h.Workers = []string{"0.0/0"}
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).Healed = true
		}},
		"NeverServed": {[]string{"served"}, func(s *tale) {
			s.h.Workers = []string{"0.0/0"}
		}},
		"WaitsForEver": {[]string{"served"}, func(s *tale) {
			s.h.Leases = append(s.h.Leases, &lease{Proc: "0.0", Acquire: operation{Call: 5 * ms, Return: never, Outcome: unknown}})
		}},
		"UndocumentedError": {[]string{"documented"}, func(s *tale) {
			s.h.Leases = append(s.h.Leases, &lease{Proc: "0.0", Acquire: operation{Outcome: undocumented, Err: "EOF"}})
		}},
		"GoroutineLeft": {[]string{"ends"}, func(s *tale) {
			s.h.Ends["0.0"] = farewell{Said: true, Err: "found unexpected goroutines"}
		}},
		"ProcessCrashed": {[]string{"ends"}, func(s *tale) {
			s.h.Ends["0.0"] = farewell{}
		}},
		"KeyLeft": {[]string{"empty"}, func(s *tale) {
			s.h.Left = []string{"a queue"}
		}},
		"OverWhenGranted": {[]string{"told"}, func(s *tale) {
			s.h.TellBound = tellBound
			s.held("0.0", 40, 20, 21, 0).released(failed, 22, 23)
		}},
		"TrustedAndGone": {[]string{"trusted"}, func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 40, 41).GoneSeen = 30 * ms
		}},
		"KeyOfNobody": {[]string{"nobody"}, func(s *tale) {
			s.h.Nobodys = []string{"key 1"}
		}},
	} {
		t.Run(name, func(t *testing.T) { tellOf(t, c.tell, c.by...) })
	}
}

// tellOf tells a tale on top of the quiet one, and checks which checks find a violation in
// it, also if it is cut into pieces.
func tellOf(t *testing.T, tell func(*tale), by ...string) {
	t.Helper()
	for _, size := range []int{1, pieceSize} {
		s := quiet()
		tell(s)
		s.h.findOwners()
		var found []string
		vs, _ := s.h.violations(size)
		for _, v := range vs {
			t.Logf("%s: %s", v.Check, v.What)
			found = append(found, v.Check)
		}
		slices.Sort(found)
		slices.Sort(by)
		if found = slices.Compact(found); !slices.Equal(found, by) {
			t.Errorf("in pieces of %d: found by %q, want %q", size, found, by)
		}
	}
}
