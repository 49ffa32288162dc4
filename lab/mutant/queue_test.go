package mutant

// queue has mutants of the queue inside one process.
var queue = []mutant{
	inQueue("queue-admits-all", "P8", "callers that exclude each other are admitted together", "TestQueueIsTheModel",
		edit{"internal/localqueue/entry.go", "if e.acquiring > 0 || !e.sharing.Admits(e.admitted, c.Sharing) {", "if e.acquiring > 0 {"}),
	inQueue("queue-turn-forgotten", "P5", "a caller that leaves at the moment of its turn loses its grant", "TestCancelWhileTheTurnComes",
		edit{"internal/localqueue/queue.go", "	return t, true\n}\n\n// remove", "	return Turn[L]{}, t.Closed\n}\n\n// remove"}),
	inQueue("queue-hand-over-to-another-class", "P8", "a lease is handed over to a waiter with another TTL", "TestQueueIsTheModel",
		edit{"internal/localqueue/queue.go", "e.head == nil || e.head.class != l.Class()", "e.head == nil"}),
	outside("queue-hand-over-against-the-lease", "P8", "a lease is handed over although it must go back to the store", "TestExtend",
		edit{"internal/localqueue/queue.go", "	if !ok {\n		return nil, pending\n	}\n	w", "	if !ok && pending == nil {\n		return nil, pending\n	}\n	w"}),
}

var inQueue = in("./internal/localqueue")
