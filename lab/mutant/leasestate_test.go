package mutant

// leaseState has mutants of the state of a lease in this process.
var leaseState = []mutant{
	inLeaseState("state-without-margin", "P2", "a process relies on a lease for all of its TTL", "TestLeaseExpires/the_lease_runs_out",
		edit{"internal/leasestate/state.go", "clock.SafeTTL(g.TTL), lost", "clock.SafeTTL(g.TTL)+clock.Margin(g.TTL), lost"}),
	inLeaseState("state-max-hold-ignored", "P7", "a lease continues after MaxHold", "TestLeaseExpires/MaxHold",
		edit{"internal/leasestate/state.go", "		left = min(left, s.maxHold-clock.Elapsed(s.began, now))\n", ""}),
	inLeaseState("state-old-lease-handed-over", "P8", "a lease that soon expires is handed over", "TestTransferIsRefused/after_half_of_the_lease",
		edit{"internal/leasestate/state.go", "s.safeTTL-clock.Elapsed(s.sent, now) >= s.enough", "true"}),
	inLeaseState("state-time-bound-ignored", "P5", "hand-overs that are quick have no limit", "TestTransferIsRefused/after_the_time",
		edit{"internal/leasestate/state.go", "s.age(now)-s.since < s.maxTime", "true"}),
	inLeaseState("state-newcomers-first", "P5", "a lease is handed over to a caller that came after those in the store", "TestWhoCameBeforeTheOthersGetsTheLease/contended",
		edit{"internal/leasestate/state.go", " && ticket <= s.last &&", " && (ticket <= s.last || true) &&"}),
	inLeaseState("state-answer-counts-late", "P5", "callers that came while the store was asked get the lease before the others", "TestWhoCameBeforeTheOthersGetsTheLease/refused",
		edit{"internal/leasestate/supply.go", "s.answer, s.asked = make(chan struct{}), newest", "s.answer, s.asked = make(chan struct{}), newest+100"}),
	outside("state-never-asks", "P5", "the store is asked for tokens alone, not whether others wait", "TestHandOversAreFair",
		edit{"internal/leasestate/supply.go", "!few && clock.Elapsed(s.granted, now) <= s.askAt:", "!few:"}),
	inLeaseState("state-tokens-not-reserved", "P3", "a reader may share a lease although its token is another reader's", "TestReadersShareALease",
		edit{"internal/leasestate/tokens.go", "r.left() <= uint64(reserved)", "r.left() <= 0*uint64(reserved)"}),
	inLeaseState("state-asks-although-others-wait", "P5", "the store is asked although others wait", "TestWhoCameBeforeTheOthersGetsTheLease/contended",
		edit{"internal/leasestate/supply.go", "case s.answer != nil || s.last != math.MaxUint64:", "case s.answer != nil:"}),
	outside("state-loss-untold", "P2", "readers are not told of a loss", "TestLossCancelsAllSharers",
		edit{"internal/leasestate/state.go", "	for h := range s.sharers {\n		all = append(all, h)\n	}\n", ""}),
}

var inLeaseState = in("./internal/leasestate")
