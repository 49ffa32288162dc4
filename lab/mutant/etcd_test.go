package mutant

// etcd has mutants of the requests of the etcd backend. All of them start a server.
var etcd = []mutant{
	etcdlock("fence-not-demanded", "P1", "a request that arrives late creates a place",
		"TestAnswerInAnEndedSession", edit{"backend/etcdlock/acquire.go", "If(p.isFenced(p.fence), free)", "If(free)"}),
	etcdlock("fence-not-written", "P7", "the request of an owner that has given up may still arrive",
		"TestLateDeletionSparesTheNextOwner", edit{"backend/etcdlock/sweeper.go", "unfenced = s.writeFence(ctx)", "_ = ctx"}),
	etcdlock("name-used-again-too-early", "P6", "a deletion that arrives late deletes the place of the next owner",
		"TestLateDeletionSparesTheNextOwner/DeleteRange", edit{"backend/etcdlock/release.go", "b.sweeper.deleted(tk, tk.session.fence.Load())", "b.sweeper.deleted(tk, 0)"}),
	etcdlock("extend-while-others-wait", "P5", "Extend does not look at the queue",
		"TestMutexInTheQueue", edit{"backend/etcdlock/renew.go", `"<", l.Store.created+1).WithPrefix(),`, `">", 0).WithPrefix(),`}),
}

// etcdlock returns a mutant of the etcd backend.
func etcdlock(name, promise, rule, test string, e edit) mutant {
	return in("./backend/etcdlock")(name, promise, rule, test, e).on("etcd")
}
