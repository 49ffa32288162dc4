package lockmetrics

import "github.com/distlock-go/distlock"

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

// OfAcquired returns the outcome of an acquisition that succeeded.
func OfAcquired(i *distlock.AcquiredInfo) Outcome {
	switch {
	case i.Reentrant:
		return Reentered
	case i.HandedOver:
		return HandedOver
	default:
		return Acquired
	}
}

// OfFailed returns the outcome of an acquisition that failed.
func OfFailed(i *distlock.FailedInfo) Outcome { return ofError(i.Err) }

// OfReleased returns the outcome of a hold that was released.
func OfReleased(i *distlock.ReleasedInfo) Outcome {
	if i.Err == nil {
		return Released
	}
	return ofError(i.Err)
}

func ofError(err error) Outcome { return firstCode + Outcome(distlock.CodeOf(err)) }

// String returns the text of the label.
func (o Outcome) String() string {
	if o >= firstCode {
		return distlock.Code(o - firstCode).String()
	}
	return [...]string{"acquired", "handed_over", "reentered", "released"}[o]
}

// ModeOf returns how a lock is held, as the text of a label.
func ModeOf(i *distlock.LockInfo) string {
	switch {
	case i.Permits > 0:
		return "permits"
	case i.Mode == distlock.Shared:
		return "shared"
	default:
		return "exclusive"
	}
}
