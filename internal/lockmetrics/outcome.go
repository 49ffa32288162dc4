package lockmetrics

import "github.com/distlock-go/distlock"

// Outcome is how an acquisition, a hold or a renewal ended.
type Outcome int

// The outcomes that are not codes of errors.
const (
	Acquired   Outcome = iota // a lock came from the store
	HandedOver                // a lock came from another holder in this process
	Reentered                 // the caller held the lock already
	Released                  // a hold ended as it should
	Renewed                   // a lease was renewed
	Failed                    // a lease was not renewed
	firstCode
)

// Outcomes is the number of outcomes.
const Outcomes = int(firstCode) + int(distlock.CodeOther) + 1

// outcomeOf returns the outcome for an error. It is not called for nil.
func outcomeOf(err error) Outcome { return firstCode + Outcome(distlock.CodeOf(err)) }

// lost is the outcome of a hold whose lease was lost.
const lost = firstCode + Outcome(distlock.CodeLost)

// String returns the text of the label.
func (o Outcome) String() string {
	if o >= firstCode {
		return distlock.Code(o - firstCode).String()
	}
	return [...]string{"acquired", "handed_over", "reentered", "released", "renewed", "failed"}[o]
}
