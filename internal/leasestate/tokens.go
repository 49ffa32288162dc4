package leasestate

import "time"

// tokenRange is what may be given out before the store is asked again.
type tokenRange struct {
	token, last uint64        // the next token and the last one; 0: the store issues none
	began       time.Duration // the age of the lease at which no other owner waited, as far as is known
	handOvers   int           // number of hand-overs so far
}

// spent reports whether no token is left for another hand-over, after reserved tokens for
// holders that are attaching.
func (r *tokenRange) spent(age time.Duration, l *Limits, reserved int) bool {
	return r.handOvers >= MinHandOvers && age-r.began >= l.MinTime || r.token != 0 && r.token+uint64(reserved) > r.last
}

// low reports whether an eighth is used: of the tokens, or of the hand-overs and the time.
// Then the store should be asked for more. Asking earlier would cost a request for keys that
// are handed over rarely. Asking later might use up the tokens before the answer arrives.
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
