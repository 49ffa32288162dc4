// Package lockmetrics says what is measured of locks, for the packages that export it to
// one system or another: they have the same families, labels and values.
package lockmetrics

import (
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// Outcome is how an acquisition or a hold ended.
type Outcome int

// The outcomes that are not codes of errors.
const (
	Acquired   Outcome = iota // a lock came from the store
	HandedOver                // a lock came from another holder in this process
	Reentered                 // the caller held the lock already
	Released                  // a hold ended as it should
	firstCode
)

// Lost is the outcome of a hold that ended with a loss.
const Lost = firstCode + Outcome(distlock.CodeLost)

// outcomes is the number of outcomes.
const outcomes = int(firstCode) + int(distlock.CodeOther) + 1

// OutcomeOf returns the outcome of an acquisition or of a hold: of an event of the kind
// Acquired, Failed, Lost or Released.
func OutcomeOf(e *distlock.Event) Outcome {
	switch {
	case e.Kind == distlock.Lost:
		return Lost
	case e.Err != nil:
		return firstCode + Outcome(distlock.CodeOf(e.Err))
	case e.Kind == distlock.Released:
		return Released
	case e.Reentrant:
		return Reentered
	case e.HandedOver:
		return HandedOver
	default:
		return Acquired
	}
}

// String returns the text of the label.
func (o Outcome) String() string {
	if o >= firstCode {
		return distlock.Code(o - firstCode).String()
	}
	return [...]string{"acquired", "handed_over", "reentered", "released"}[o]
}

// ModeOf returns how a lock is held, as the text of a label.
func ModeOf(e *distlock.Event) string {
	w := driver.WaiterInfo{Mode: e.Mode, Permits: e.Permits}
	return w.ModeName()
}

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
