package locktest

// WithStalls makes the suite run in virtual time with the limits of real time, where any
// call may take long.
func WithStalls(f Features) Features {
	f.stalls = true
	return f
}
