package dispatch

const (
	FollowAfter = followAfter
	MaxBatch    = maxBatch
	MaxInFlight = maxInFlight
)
