package main

import "fmt"

// outcome is the result of one run.
type outcome struct {
	label    string
	locked   bool
	tally    *tally
	counted  *int64 // sum of the counters; nil if it is unknown
	cutShort int64  // samples that an interrupt ended; they are not in the statistics
	failure  error  // of the first failed sample
}

// expected returns the number of confirmed increments.
func (o *outcome) expected() int64 { return o.tally.samples - o.tally.errors }

// lost returns how many confirmed increments are missing. It is negative if the
// counters have more increments than were confirmed, for example because replies were
// lost.
func (o *outcome) lost() int64 {
	if o.counted == nil {
		return 0
	}
	return o.expected() - *o.counted
}

// counters returns one line about the counters.
func (o *outcome) counters() string {
	s := fmt.Sprintf("%s: unknown of %s increments", o.label, group(o.expected()))
	if o.counted != nil {
		s = fmt.Sprintf("%s: %s of %s increments", o.label, group(*o.counted), group(o.expected()))
	}
	switch lost := o.lost(); {
	case lost > 0:
		s += fmt.Sprintf(", %s lost", group(lost))
	case lost < 0:
		s += fmt.Sprintf(", %s more than were confirmed", group(-lost))
	}
	if o.tally.errors > 0 {
		s += fmt.Sprintf("; %s of %s samples failed, the first with: %s",
			group(o.tally.errors), group(o.tally.samples), oneLine(o.failure.Error()))
	}
	if o.cutShort > 0 {
		s += fmt.Sprintf("; cut short: %s", group(o.cutShort))
	}
	return s
}

// verdict returns an error if the run did not show what it should. Without the lock,
// lost increments are expected.
func (o *outcome) verdict() error {
	switch {
	case o.tally.samples > 0 && o.tally.errors == o.tally.samples:
		return fmt.Errorf("%s: all samples failed, the first with: %w", o.label, o.failure)
	case o.locked && o.lost() > 0:
		return fmt.Errorf("%s: %s increments lost in spite of the lock", o.label, group(o.lost()))
	default:
		return nil
	}
}
