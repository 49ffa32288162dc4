package main

import "time"

// task is the work of a crew. The parent writes it to each child as JSON, with the
// number of the child.
type task struct {
	Peer       string        // or the name of a probe
	URL        string        // of Redis or ZooKeeper
	Key        string        // the key, or the prefix of the goroutines' own keys
	OwnKeys    bool          // each goroutine has its own key
	NewKeys    bool          // and a new one for each lock
	Procs      int           // number of processes
	Proc       int           // number of this process, from 0
	Goroutines int           // per process
	Hold       time.Duration // how long a lock is held
	Register   string        // path of the register; "" with OwnKeys
	Profile    string        // directory for CPU profiles; "": none
}

// order is the next work of a child.
type order struct {
	Start int64         // start in nanoseconds since 1970, the same for all processes
	Loops int           // locks for each goroutine; 0: as many as the time allows
	For   time.Duration // how long, if Loops is 0
	Order bool          // record which callers overtook others
	Limit time.Duration // time limit
}

// report is an answer of a child: first that it is ready, then one for each order.
type report struct {
	Err        string    // why the whole task failed
	Locks      int64     // acquired and released
	Start, End int64     // of the first and last goroutine, in nanoseconds since 1970
	Finished   bool      // all goroutines finished
	Errors     int       // of Lock and Unlock
	FirstError string    // one of the errors
	Waits      histogram // for the lock; with OwnKeys for lock and unlock together
	Full       spread    // of the waits that began and ended while all goroutines were waiting
	Overtaken  overtaken // with order.Order
	HandOvers  histogram // from a holder in another process
}

// spread summarises durations.
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
