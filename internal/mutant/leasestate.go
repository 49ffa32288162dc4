package mutant

// leaseState has mutants of the state of a lease in this process.
var leaseState = []Mutant{
	inLeaseState("state-without-margin", "a process relies on a lease for all of its TTL", "TestLeaseExpires/the_lease_runs_out",
		Edit{"internal/leasestate/state.go", "clock.SafeTTL(g.TTL), lost", "clock.SafeTTL(g.TTL)+clock.Margin(g.TTL), lost"}),
	inLeaseState("state-max-hold-ignored", "a lease continues after MaxHold", "TestLeaseExpires/MaxHold",
		Edit{"internal/leasestate/state.go", "		left = min(left, s.maxHold-clock.Elapsed(s.began, now))\n", ""}),
	inLeaseState("state-fixed-handed-over", "a fixed lease is handed over", "TestTransferIsRefused/fixed",
		Edit{"internal/leasestate/state.go", " && !s.class.Fixed && ", " && "}),
	inLeaseState("state-old-lease-handed-over", "a lease that soon expires is handed over", "TestTransferIsRefused/after_half_of_the_lease",
		Edit{"internal/leasestate/state.go", "clock.Elapsed(s.sent, now) <= s.safeTTL/2", "true"}),
	inLeaseState("state-handed-over-too-long", "a lease is handed over while other processes wait", "TestTransferIsRefused/after_the_time",
		Edit{"internal/leasestate/state.go", "clock.Elapsed(s.grant.Sent, now) < s.limits.Time", "true"}),
	inLeaseState("state-handed-over-too-often", "the number of hand-overs has no limit", "TestHandOversAreBounded",
		Edit{"internal/leasestate/tokens.go", "r.handOvers >= handOvers || ", ""}),
	inLeaseState("state-tokens-not-reserved", "a reader may share a lease although its token is another reader's", "TestReadersShareALease",
		Edit{"internal/leasestate/tokens.go", "r.token+uint64(reserved) > r.last", "r.token+0*uint64(reserved) > r.last"}),
	inLeaseState("state-tokens-forgotten", "a release does not know the tokens that were issued last", "TestMoreTokens",
		Edit{"internal/leasestate/state.go", "		g.LastToken = s.nextTokens.last\n", ""}),
	inLeaseState("state-asks-at-once", "the first hand-over asks the store for more tokens", "TestMoreTokens",
		Edit{"internal/leasestate/state.go", " || s.tokens.handOvers <= s.limits.HandOvers/8 {", " {"}),
	inLeaseState("state-asks-although-others-wait", "the store is asked for more tokens although others wait", "TestMoreTokensAreNotAskedFor",
		Edit{"internal/leasestate/state.go", "s.over != nil || s.grant.Contended ||", "s.over != nil ||"}),
	inLeaseState("state-last-reader-unknown", "a reader that came and was not assigned is counted without end", "TestReadersShareALease",
		Edit{"internal/leasestate/state.go", "	if h == none {\n		s.attaching--", "	if h == none {\n		s.attaching -= 0"}),
	inLeaseState("state-lost-twice", "a later loss replaces the first", "TestEachHolderIsToldOnceOfALoss/a_writer",
		Edit{"internal/leasestate/state.go", "	if s.over != nil {\n		defer s.mu.Unlock()", "	if s.over != nil && false {\n		defer s.mu.Unlock()"}),
	inLeaseState("state-loss-untold", "readers are not told of a loss", "TestEachHolderIsToldOnceOfALoss/readers",
		Edit{"internal/leasestate/state.go", "	for h := range s.sharers {\n		all = append(all, h)\n	}\n", ""}),
	inLeaseState("state-release-hides-a-loss", "a release does not say that the lease was lost before", "TestReleaseReturnsAnEarlierLoss",
		Edit{"internal/leasestate/state.go", "	over := s.over\n	if over == nil {\n		s.over = ErrReleased\n	}\n	return over", "	over := s.over\n	if over == nil {\n		s.over = ErrReleased\n	}\n	return nil"}),
	inLeaseState("state-failure-of-the-past", "a renewal that failed before another succeeded is the reason of a loss", "TestExtendMovesTheEnd",
		Edit{"internal/leasestate/state.go", "s.sent, s.renewalErr = sent, nil", "s.sent = sent"}),
}

var inLeaseState = in("./internal/leasestate")
