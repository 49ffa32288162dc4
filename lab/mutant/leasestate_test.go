package mutant

// leaseState has mutants of the state of a lease in this process.
var leaseState = []mutant{
	inLeaseState("state-without-margin", "P2", "a process relies on a lease for all of its TTL", "TestLeaseExpires/the_lease_runs_out",
		edit{"internal/leasestate/state.go", "clock.SafeTTL(g.TTL), lost", "clock.SafeTTL(g.TTL)+clock.Margin(g.TTL), lost"}),
	inLeaseState("state-max-hold-ignored", "P7", "a lease continues after MaxHold", "TestLeaseExpires/MaxHold",
		edit{"internal/leasestate/state.go", "		left = min(left, s.maxHold-clock.Elapsed(s.began, now))\n", ""}),
	inLeaseState("state-old-lease-handed-over", "P8", "a lease that soon expires is handed over", "TestTransferIsRefused/after_half_of_the_lease",
		edit{"internal/leasestate/state.go", "s.safeTTL-clock.Elapsed(s.sent, now) >= s.enough", "true"}),
	inLeaseState("state-time-bound-ignored", "P5", "hand-overs that are quick have no limit", "TestHandOversAreBounded/by_the_time",
		edit{"internal/leasestate/tokens.go", "age-r.began >= l.MinTime || ", "l.MinTime == 0 || "}),
	inLeaseState("state-tokens-not-reserved", "P3", "a reader may share a lease although its token is another reader's", "TestReadersShareALease",
		edit{"internal/leasestate/tokens.go", "r.token+uint64(reserved) > r.last", "r.token+0*uint64(reserved) > r.last"}),
	inLeaseState("state-asks-although-others-wait", "P5", "the store is asked for more tokens although others wait", "TestMoreTokensAreNotAskedFor",
		edit{"internal/leasestate/state.go", "s.limits.Extend && !s.grant.Contended", "s.limits.Extend"}),
	outside("state-loss-untold", "P2", "readers are not told of a loss", "TestLossCancelsAllSharers",
		edit{"internal/leasestate/state.go", "	for h := range s.sharers {\n		all = append(all, h)\n	}\n", ""}),
}

var inLeaseState = in("./internal/leasestate")
