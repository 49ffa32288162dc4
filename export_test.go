package distlock

import "time"

// Keys is how many keys are held or waited for in this process.
func (l *Locker) Keys() int {
	l.gate.mu.Lock()
	defer l.gate.mu.Unlock()
	return len(l.gate.lines)
}

// Waiting is how many goroutines of this process wait at the gate for key.
func (l *Locker) Waiting(key string) int {
	l.gate.mu.Lock()
	defer l.gate.mu.Unlock()
	if ln := l.gate.lines[key]; ln != nil {
		return ln.n
	}
	return 0
}

// WaitingInAll is how many goroutines of this process wait at the gate for any key.
func (l *Locker) WaitingInAll() int { return int(l.gate.waiting.Load()) }

// Watched is how many holds the watchdog looks after.
func (l *Locker) Watched() int { return len(l.watchdog.holds()) }

var (
	Elapsed = elapsed
	Margin  = margin
	Jumped  = jumped
)

// ReleaseTimeout bounds one attempt to give a key back.
const ReleaseTimeout time.Duration = releaseTimeout

// Recheck has the watchdog look at every deadline as if it were now.
func (l *Locker) Recheck(now time.Time) { l.watchdog.recheck(now) }

// LoseAll ends every hold as a denied renewal would.
func (l *Locker) LoseAll() {
	for _, h := range l.watchdog.holds() {
		_ = h.lose(errTaken)
	}
}

// MaxBatches is how many renewals may be under way at once.
const MaxBatches = maxBatches

// Backend is what the Locker was made over.
func (l *Locker) Backend() Backend { return l.backend }

// CleanupTimeout is how long Close waits for clean-up when nobody holds anything.
const CleanupTimeout time.Duration = cleanupTimeout
