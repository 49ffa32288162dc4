package localqueue

// HasTurn reports whether w's turn has come.
func HasTurn[L Lease](w *Waiter[L]) bool { return len(w.turn) > 0 }
