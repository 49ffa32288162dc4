package distlock

import "strconv"

// Mode says who may hold a key at the same time.
type Mode int

// The modes. The zero value is the one that keeps everybody else out.
const (
	// Exclusive lets one holder in, and nobody beside it.
	Exclusive Mode = iota

	// Shared lets in any number of holders that ask for it, as readers, but none
	// that asks for Exclusive beside them.
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
