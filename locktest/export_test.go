package locktest

// WithStalls makes the suite run in virtual time as it does in real time, where
// anything may take long.
func WithStalls(f Features) Features {
	f.stalls = true
	return f
}
