package dispatch

const (
	MaxBatch   = maxBatch
	MaxCrowded = maxCrowded
)
