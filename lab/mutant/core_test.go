package mutant

// core has mutants of how the Locker handles time: leases, renewals and waits.
var core = []mutant{
	outside("renewal-counts-from-the-answer", "P2", "a renewed lease counts from the reply", "TestExtensionCountsFromTheSending/renewal",
		edit{"watchdog.go", "st.Extend(sent)", "st.Extend(now.Add(0 * now.Sub(sent)))"}),
	outside("refresh-counts-from-the-answer", "P2", "a refreshed lease counts from the reply", "TestExtensionCountsFromTheSending/refresh",
		edit{"lease.go", "st.Extend(sent)", "st.Extend(time.Now().Add(0 * time.Since(sent)))"}),
	outside("watch-unheeded", "P5", "a message that the key is free does not lead to an attempt", "TestWakerWakesAtOnce",
		edit{"asking.go", "q.turn = w.Turn(q.watching, q.request)", "_ = w.Turn(q.watching, q.request)"}),
	root("jump-unnoticed", "P2", "leases are not checked after a jump of the clock", "TestJumpOfTheClockEndsTheLeases",
		edit{"watchdog.go", "if clock.Jumped(last, now) {", "if clock.Jumped(last, now) && false {"}),
	outside("batch-of-a-lease", "P2", "a request for several leases may take as long as the shortest", "TestBatchTakesAThirdOfItsShortestLease",
		edit{"watchdog.go", "timeout/3)", "timeout)"}),
	outside("refused-renewal-not-repeated", "P5", "a renewal that the store refuses is not sent again soon", "TestRenewalsRefusedForAWhile",
		edit{"watchdog.go", "		dog.reschedule(st, now.Add(renewalPause(st.TTL())/4))\n", ""}),
	root("lost-and-watched", "P7", "a lease that the store denies stays in the schedule", "TestLostLeaseIsNotWatched",
		edit{"watchdog.go", "		dog.remove(st)\n		_ = st.Lose(taken(err))", "		_ = st.Lose(taken(r.Err))"}),
	outside("shared-lease-left-behind", "P5", "the last reader of a shared lease does not release it", "TestReadersShareOneLease",
		edit{"internal/leasestate/state.go", "last = s.attaching == 0 && len(s.sharers) == 0", "last = false"}),
	root("shared-lease-goes-on", "P8", "a reader may join a shared lease while its last reader releases it", "TestReleasedLeaseIsNotShared",
		edit{"internal/leasestate/state.go", "	if last && over == nil {", "	if last && over == nil && false {"}),
	outside("token-for-two", "P3", "a hand-over gives the next holder the token of the previous one", "TestAllKindsAtOnce",
		edit{"internal/leasestate/tokens.go", "		r.token++\n", ""}),
}

var (
	root    = in(".")
	outside = in("./internal/test/root")
)
