package redislock

import "time"

// workers run operations on goroutines other than the caller's, and keep those
// goroutines for a while: a fresh one has a small stack, and growing it to what
// the client needs costs more than all the rest of the hand-over.
type workers struct {
	jobs chan func()
	end  <-chan struct{} // closed when idle workers shall end
}

// idleWorker is how long a worker waits for something to do.
const idleWorker = time.Second

func newWorkers(end <-chan struct{}) *workers {
	return &workers{jobs: make(chan func()), end: end}
}

// run starts f. It never blocks.
func (w *workers) run(f func()) {
	select {
	case w.jobs <- f:
	default:
		go w.work(f)
	}
}

func (w *workers) work(f func()) {
	idle := time.NewTimer(idleWorker)
	defer idle.Stop()
	for {
		f()
		idle.Reset(idleWorker)
		select {
		case f = <-w.jobs:
		case <-idle.C:
			return
		case <-w.end:
			return
		}
	}
}
