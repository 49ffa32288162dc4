package rediskit

import "time"

// Workers run operations on other goroutines, and keep these goroutines for a while. A new
// goroutine has a small stack: to grow it to the size that the client needs costs more than
// to pass the operation to another goroutine.
type Workers struct {
	jobs chan func()
	end  <-chan struct{} // closed when idle workers must end
}

// idleWorker is how long a worker waits for something to do.
const idleWorker = time.Second

// NewWorkers returns Workers. When end is closed they end as soon as they are idle.
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
