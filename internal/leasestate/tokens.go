package leasestate

// tokenRange is what may be given out before the store is asked again.
type tokenRange struct {
	token, last uint64 // the next token and the last one; 0: the store issues none
	handOvers   int    // number of hand-overs so far
}

// spent reports whether another hand-over is not covered, with reserved tokens for
// holders on their way.
func (r *tokenRange) spent(handOvers, reserved int) bool {
	return r.handOvers >= handOvers || r.token != 0 && r.token+uint64(reserved) > r.last
}

// take returns the next token, or 0 if the store issues none.
func (r *tokenRange) take() uint64 {
	token := r.token
	if token != 0 {
		r.token++
	}
	return token
}
