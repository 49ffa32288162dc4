package leasestate

import "time"

// tokenRange is what may be given out before the store is asked again.
type tokenRange struct {
	token, last uint64        // the next token and the last one; 0: the store issues none
	began       time.Duration // the age of the lease at which no other owner waited, as far as is known
	handOvers   int           // number of hand-overs so far
}

// spent reports whether another hand-over is not covered, with reserved tokens for
// holders on their way.
func (r *tokenRange) spent(age time.Duration, l *Limits, reserved int) bool {
	return r.handOvers >= MinHandOvers && age-r.began >= l.MinTime || r.token != 0 && r.token+uint64(reserved) > r.last
}

// low reports whether an eighth is used: of the tokens, or of the hand-overs and the time.
// Then the store should be asked for more. Not before: a key that changes hands now and then
// shall not cost a request each time. Not later: what is left, which may be little because
// the store gave few tokens, should last until the answer comes.
func (r *tokenRange) low(age time.Duration, l *Limits) bool {
	return r.token != 0 && 7*uint64(r.handOvers) > r.last-r.token+1 ||
		r.handOvers > MinHandOvers/8 && age-r.began >= l.MinTime/8
}

// take returns the next token, or 0 if the store issues none.
func (r *tokenRange) take() uint64 {
	token := r.token
	if token != 0 {
		r.token++
	}
	return token
}
