package rediskit

import "time"

// Workers run operations on goroutines other than the caller's, and keep those
// goroutines for a while: a fresh one has a small stack, and growing it to what
// the client needs costs more than all the rest of the hand-over.
type Workers struct {
	jobs chan func()
	end  <-chan struct{} // closed when idle workers shall end
}

// idleWorker is how long a worker waits for something to do.
const idleWorker = time.Second

// NewWorkers returns Workers that end, once idle, when the channel is closed.
func NewWorkers(end <-chan struct{}) *Workers {
	return &Workers{jobs: make(chan func()), end: end}
}

// Run starts f. It never blocks.
func (w *Workers) Run(f func()) {
	select {
	case w.jobs <- f:
	default:
		go w.work(f)
	}
}

func (w *Workers) work(f func()) {
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
