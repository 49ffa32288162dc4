package mutant

// queue has mutants of the queue inside one process.
var queue = []Mutant{
	inQueue("queue-last-first", "the last waiter of a key is the first to be admitted", "TestWaitersAreAdmittedInOrderOfArrival",
		Edit{"internal/localqueue/queue.go", "	w := e.head\n	e.remove(w)", "	w := e.tail\n	e.remove(w)"}),
	inQueue("queue-overtaken", "a caller that arrives overtakes the waiters", "TestReadersShareWhatTheFirstGets",
		Edit{"internal/localqueue/queue.go", "if e != nil && e.head == nil {", "if e != nil {"}),
	inQueue("queue-readers-ask-together", "readers ask the store at the same time", "TestReaderAsksItselfIfTheLeaseCannotBeShared/refused",
		Edit{"internal/localqueue/entry.go", "if e.acquiring > 0 || !e", "if !e"}),
	inQueue("queue-admits-all", "callers that exclude each other are admitted together", "TestManyCallers",
		Edit{"internal/localqueue/entry.go", "if e.acquiring > 0 || !e.sharing.Admits(e.admitted, c.Sharing) {", "if e.acquiring > 0 {"}),
	inQueue("queue-cancelled-in-the-way", "readers wait for a writer that has left", "TestCancelledWriterLetsReadersIn",
		Edit{"internal/localqueue/queue.go", "	q.advance(e) // w may have kept others waiting\n", ""}),
	inQueue("queue-turn-forgotten", "a caller that leaves at the moment of its turn loses its grant", "TestCancelWhileTheTurnComes",
		Edit{"internal/localqueue/queue.go", "	return t, true\n}\n\n// remove", "	return Turn[L]{}, t.Closed\n}\n\n// remove"}),
	inQueue("queue-hand-over-to-another-class", "a lease is handed over to a waiter with another TTL", "TestHandOver",
		Edit{"internal/localqueue/queue.go", "e.head == nil || e.head.class != l.Class()", "e.head == nil"}),
	inQueue("queue-hand-over-against-the-lease", "a lease is handed over although it must go back to the store", "TestHandOver",
		Edit{"internal/localqueue/queue.go", "	if !ok {\n		return nil, pending\n	}\n	w", "	if !ok && pending == nil {\n		return nil, pending\n	}\n	w"}),
	inQueue("queue-hand-over-holds-up", "a hand-over leaves a waiter behind that the semaphore has room for", "TestHandOverAdmitsTheNextWithMorePermits",
		Edit{"internal/localqueue/queue.go", "	q.advance(e) // the next waiter may ask for more permits\n", ""}),
	inQueue("queue-shared-outlives-readers", "a shared lease is offered after its last reader has gone", "TestQueueIsTheModel",
		Edit{"internal/localqueue/queue.go", "		e.shared = none\n", "		_ = none\n"}),
	inQueue("queue-waiters-uncounted", "a waiter that was admitted still counts for MaxWaiters", "TestLimits",
		Edit{"internal/localqueue/queue.go", "	e.remove(w)\n	q.waiting--\n	return w", "	e.remove(w)\n	return w"}),
	inQueue("queue-one-key-more", "MaxKeys admits one key more", "TestLimits",
		Edit{"internal/localqueue/queue.go", "n >= q.maxKeys", "n > q.maxKeys"}),
	inQueue("queue-closed-and-waiting", "a waiter waits without end in a closed queue", "TestClose",
		Edit{"internal/localqueue/queue.go", "			q.shift(e).turn <- Turn[L]{Closed: true}\n", "			q.shift(e)\n"}),
	inQueue("queue-error-stays", "an old error of the store is reported as if it were new", "TestBackendErr",
		Edit{"internal/localqueue/queue.go", "if e == nil || !now.Before(e.errUntil) {", "if e == nil {"}),
	inQueue("queue-key-left-behind", "a key that is not used any more stays in memory", "TestWaitersAreAdmittedInOrderOfArrival",
		Edit{"internal/localqueue/queue.go", "	if e.admitted == 0 {\n		delete(q.entries, key)\n	}\n", ""}),
}

var inQueue = in("./internal/localqueue")
