package dispatch

const (
	MaxBatch    = maxBatch
	MaxInFlight = maxInFlight
)
