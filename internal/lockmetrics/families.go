// Package lockmetrics says what is measured of locks, for the packages that export it to
// one system or another: they have the same families, labels and values.
package lockmetrics

import "strings"

// The descriptions of the families.
const (
	WaitText     = "Time from the call to the lock, or to the failure to get it."
	HoldText     = "Time from the acquisition of a lock to its release or loss."
	RenewalsText = "Renewals of leases, and failures to renew them."
	LossesText   = "Leases that ended before their release."
	WaitingText  = "Acquisitions under way."
	HeldText     = "Locks held."
)

// The outcomes of renewals, as labels.
const (
	Renewed = "renewed"
	Failed  = "failed"
)

// Buckets returns the upper bounds of the histograms, in seconds: from a hand-over in the
// process to a job.
func Buckets() []float64 {
	return []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}
}

// Text returns s as the value of a label, which must be valid UTF-8.
func Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
