package dispatch

const (
	Few         = few
	MaxBatch    = maxBatch
	MaxInFlight = maxInFlight
)
