package driver

import "strconv"

// Mode says whether a key can have several holders at the same time.
type Mode int

// The modes. The zero value is Exclusive.
const (
	// Exclusive admits one holder.
	Exclusive Mode = iota

	// Shared admits any number of holders that ask for Shared, the readers. It
	// excludes those that ask for Exclusive.
	Shared
)

// String returns the mode in lower case.
func (m Mode) String() string {
	switch m {
	case Exclusive:
		return "exclusive"
	case Shared:
		return "shared"
	default:
		return "Mode(" + strconv.Itoa(int(m)) + ")"
	}
}

// Sharing says which holders a key can have at the same time. With Permits above 0 the
// key is a semaphore, and Mode is Exclusive.
type Sharing struct {
	Mode    Mode
	Permits int
}

// Admits reports whether one more holder, which asks for o, may join n holders that have
// s. Readers join readers. A semaphore counts by the permits that the new holder asks
// for. If n is 0 the key is free and s does not count.
func (s Sharing) Admits(n int, o Sharing) bool {
	switch {
	case n == 0:
		return true
	case s.Permits > 0:
		return n < o.Permits
	default:
		return s.Mode == Shared && o.Mode == Shared
	}
}

// Covers reports whether a holder that has s has all that o asks for, so that it may
// re-enter.
func (s Sharing) Covers(o Sharing) bool {
	switch {
	case s.Permits > 0:
		return s.Permits <= o.Permits
	case s.Mode == Shared:
		return o.Mode == Shared
	default:
		return true
	}
}
