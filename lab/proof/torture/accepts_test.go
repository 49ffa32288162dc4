package torture

import "testing"

// TestCheckerAccepts checks that events that faults can cause are not reported as
// violations.
func TestCheckerAccepts(t *testing.T) {
	for name, tell := range map[string]func(s *tale){
		"Quiet": func(*tale) {},
		"ExpiredAfterPause": func(s *tale) {
			s.h.Pauses["0.0"] = []window{{25 * ms, 4000 * ms}}
			stopped := s.held("0.0", 40, 20, 21, 1000)
			s.held("1.0", 50, 30, 1005, 2000).used(ok, 1006, 1007).released(ok, 1010, 1011)
			stopped.used(failed, 4001, 4002).released(failed, 4010, 4011)
		},
		"PausedHolderWritesUnopposed": func(s *tale) {
			s.h.Pauses["0.0"] = []window{{25 * ms, 4000 * ms}}
			s.held("0.0", 40, 20, 21, 1000).used(ok, 4001, 4002).released(failed, 4010, 4011)
		},
		"KilledHolder": func(s *tale) {
			delete(s.h.Ends, "0.0")
			s.held("0.0", 40, 20, 21, 1000)
			s.held("1.0", 50, 30, 1020, 2000).released(ok, 1030, 1031)
		},
		"UnknownReleaseApplied": func(s *tale) {
			s.held("0.0", 40, 20, 21, 1000).released(unknown, 25, 0)
			s.held("1.0", 50, 24, 30, 1020).released(ok, 31, 32)
		},
		"UnknownAcquisition": func(s *tale) {
			delete(s.h.Ends, "0.0")
			s.h.Leases = append(s.h.Leases, &lease{Proc: "0.0", Acquire: operation{Call: 20 * ms, Return: never, Outcome: unknown}})
			s.held("1.0", 50, 21, 22, 1020).released(ok, 30, 31)
		},
		"TwoHoldersAfterLossOfData": func(s *tale) {
			s.h.Losses = []window{{22 * ms, 30 * ms}}
			s.held("0.0", 40, 20, 21, 1000).used(ok, 35, 36).used(failed, 45, 46).released(ok, 50, 51)
			s.held("0.0", 41, 51, 52, 1000).used(failed, 53, 54).released(failed, 60, 61).handedBy(s.h.Leases[3])
			s.held("1.0", 80, 31, 40, 1040).used(ok, 41, 42).released(ok, 70, 71)
		},
		"LossAfterADentInAQuorum": func(s *tale) {
			s.h.Dents = []window{{22 * ms, 30 * ms}}
			s.held("0.0", 40, 20, 21, 1020).used(ok, 22, 23).used(ok, 36, 37).released(failed, 40, 41).LostSeen = 35 * ms
		},
		"ReadersBesideEachOther": func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).used(ok, 22, 23).released(ok, 40, 41).shared()
			s.held("0.0", 41, 20, 22, 1020).used(ok, 23, 24).released(ok, 30, 31).shared().handedBy(s.h.Leases[3])
			s.held("1.0", 80, 20, 23, 1020).used(ok, 24, 25).released(ok, 50, 51).shared()
			s.held("1.0", 90, 20, 51, 1040).used(ok, 52, 53).released(ok, 60, 61)
		},
		"ReadersJoinOneAfterTheOther": func(s *tale) { // one that is in no history had the key between them
			s.held("0.0", 41, 20, 22, 1020).released(ok, 23, 24).shared().handedBy(s.h.Leases[0]).Grant = "readers"
			s.held("0.0", 40, 20, 25, 1020).released(ok, 30, 31).shared().Grant = "readers"
			s.held("0.0", 42, 26, 32, 1020).released(ok, 33, 34).shared().handedBy(s.h.Leases[4])
			s.held("1.0", 90, 20, 51, 1040).released(ok, 60, 61)
		},
		"PermitHandedOver": func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 25, 26).permit(2)
			s.held("1.0", 39, 20, 21, 1020).released(ok, 50, 51).permit(2)
			s.held("0.0", 41, 20, 26, 1020).renewed(27, 28).released(ok, 30, 31).permit(2).handedBy(s.h.Leases[3])
		},
		"ReleaseBySetThatHandsOver": func(s *tale) { // the set is refused, and has no lease in the history
			s.held("0.0", 40, 20, 21, 1020).released(ok, 25, 26)
			s.refused("0.0", 20, 40).inSet(7)
			s.held("0.0", 42, 20, 41, 1020).released(ok, 50, 51).handedBy(s.h.Leases[3])
		},
		"PermitsBesideEachOther": func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).used(ok, 22, 23).released(ok, 30, 31).permit(2)
			s.held("1.0", 80, 20, 22, 1020).used(ok, 23, 24).released(ok, 50, 51).permit(2)
			s.held("0.0", 81, 20, 31, 1020).used(ok, 32, 33).released(ok, 40, 41).permit(2)
		},
		"TokensOfPermitsInNoOrder": func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).permit(2)
			s.held("1.0", 39, 30, 31, 1030).released(ok, 32, 33).permit(2)
			s.held("0.0", 41, 34, 35, 1040).released(ok, 36, 37).shared()
		},
		"StaleReadRefused": func(s *tale) {
			s.held("0.0", 40, 20, 21, 30).shared()
			s.held("1.0", 50, 31, 32, 1020).used(ok, 33, 34).released(ok, 40, 41)
			s.h.Leases[3].used(failed, 50, 51).released(failed, 52, 53)
		},
		"DeadReaderKeepsWriterOut": func(s *tale) {
			delete(s.h.Ends, "0.0")
			s.held("0.0", 40, 20, 21, 1000).shared()
			s.held("1.0", 41, 20, 22, 1000).released(ok, 30, 31).shared()
			s.held("1.0", 50, 30, 1020, 2000).released(ok, 1030, 1031)
		},
		"MinHold": func(s *tale) {
			s.held("0.0", 40, 20, 21, 1000).released(ok, 25, 26).keeping(500)
			s.held("1.0", 50, 24, 520, 1520).released(ok, 525, 526)
		},
		"MinHoldInSet": func(s *tale) { // it waited for another key for a while
			s.held("0.0", 40, 20, 600, 1500).released(ok, 601, 602).inSet(7).keeping(500).Sent = 550 * ms
			s.held("1.0", 50, 24, 610, 1620).released(ok, 620, 621)
		},
		"MinHoldOver": func(s *tale) { // while the release runs
			s.held("0.0", 40, 20, 21, 1000).released(ok, 65, 126).keeping(50)
			s.held("0.0", 50, 24, 127, 1020).released(ok, 130, 131).handedBy(s.h.Leases[3])
		},
		"MinHoldAfterLoss": func(s *tale) {
			s.held("0.0", 40, 20, 21, 30).released(failed, 31, 32).keeping(500)
			s.held("1.0", 50, 24, 35, 1020).released(ok, 40, 41)
		},
		"MinHoldUntilDeath": func(s *tale) {
			s.h.Deaths = map[string]int64{"0.0": 90 * ms}
			s.held("0.0", 40, 20, 21, 1000).released(ok, 25, 26).keeping(500)
			s.held("1.0", 50, 24, 100, 1020).released(ok, 110, 111)
		},
		"ReadersBesideOneWithMinHold": func(s *tale) {
			s.held("0.0", 40, 20, 21, 1000).released(ok, 25, 26).shared().keeping(500)
			s.held("1.0", 50, 24, 100, 1020).released(ok, 110, 111).shared()
		},
		"Sets": func(s *tale) {
			s.refused("1.0", 20, 21).inSet(7)
			s.refused("1.0", 20, 21).inSet(7)
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).inSet(7)
			s.h.Keys = 2
			s.held("0.0", 9, 20, 21, 1020).released(ok, 22, 23).inSet(7).Key = 1
		},
		"Served": func(s *tale) {
			s.h.Workers = []string{"0.0/0"}
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).Healed = true
			s.held("0.0", 50, 30, 31, 1030).released(ok, 32, 33).inSet(7).Healed = true
		},
		"Leaders": func(s *tale) {
			s.held("0.0", 40, 20, 21, 1020).released(ok, 22, 23).leading()
			s.held("1.0", 80, 20, 23, 1020).released(ok, 24, 25).leading()
			s.held("0.0", 90, 20, 26, 1020).released(ok, 27, 28).leading()
		},
		"AcquisitionsOverlap": func(s *tale) {
			*s = *newTale()
			s.held("0.0", 40, 0, 50, 1000).released(ok, 51, 52)
			s.held("1.0", 30, 0, 20, 1000).released(ok, 21, 40)
		},
	} {
		t.Run(name, func(t *testing.T) { tellOf(t, tell) })
	}
}
