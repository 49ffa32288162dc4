package distlock

import (
	"context"
	"time"
)

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

// Watched is how many holds the watchdog looks after.
func (l *Locker) Watched() int { return len(l.watchdog.holds()) }

var (
	Elapsed = elapsed
	Margin  = margin
)

// ReleaseTimeout bounds one attempt to give a key back.
const ReleaseTimeout time.Duration = releaseTimeout

// Backend is what the Locker was made over.
func (l *Locker) Backend() Backend { return l.backend }

// Detached is the context that releases run on.
func Detached(parent context.Context, timeout time.Duration) (ctx context.Context, end func()) {
	d := detach(parent, timeout)
	return d, d.end
}
