package main

import "time"

// task is what a crew of processes is hired for. The parent writes it to each
// child as JSON, with the child's own number.
type task struct {
	Peer       string        // or the name of a probe
	URL        string        // of the Redis or the ZooKeeper
	Key        string        // the one key, or what the goroutines' own keys begin with
	OwnKeys    bool          // a key for each goroutine
	Procs      int           // that share the task
	Proc       int           // this one, from 0
	Goroutines int           // in each
	Hold       time.Duration // how long a lock is held
	Register   string        // path of the register, none with OwnKeys
	Profile    string        // directory for CPU profiles, or none
}

// order is what the parent tells a child to do next.
type order struct {
	Start int64         // when to begin, in nanoseconds since 1970: the same for all processes
	Loops int           // locks for each goroutine; 0: as many as it can
	For   time.Duration // how long, if Loops is 0
	Order bool          // record who overtook whom
	Limit time.Duration // when to give up what is not done, in any case
}

// report is a child's answer: first that it is ready, then one to each order.
type report struct {
	Err        string    // why the whole task failed
	Locks      int64     // taken and given back
	Start, End int64     // of the first and last goroutine, in nanoseconds since 1970
	Finished   bool      // nobody was stopped
	Errors     int       // of Lock and Unlock
	FirstError string    // one of them
	Waits      histogram // for the lock; own keys: for the lock and the unlock
	Full       spread    // of the waits that began and ended while everyone was there
	Overtaken  overtaken // with order.Order
	HandOvers  histogram // from a holder in another process
}

// spread sums up durations.
type spread struct {
	N        int64
	Sum, Max time.Duration
}

func (s *spread) add(d time.Duration) {
	s.N++
	s.Sum += d
	s.Max = max(s.Max, d)
}

func (s *spread) merge(o spread) {
	s.N += o.N
	s.Sum += o.Sum
	s.Max = max(s.Max, o.Max)
}

func (s *spread) mean() time.Duration {
	if s.N == 0 {
		return 0
	}
	return s.Sum / time.Duration(s.N)
}
