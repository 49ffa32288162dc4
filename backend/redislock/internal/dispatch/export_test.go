package dispatch

const (
	MaxBatch = maxBatch
)
