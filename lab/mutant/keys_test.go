package mutant

// keys has mutants of the rules for keys: hash tags, keys as other programs make them, and
// the messages of redlock that a key is free.
var keys = []mutant{
	{
		Name:    "interruption-unnoticed",
		Rule:    "a watch that was interrupted does not begin again",
		Edits:   []edit{{"backend/redlock/watch.go", "if n == w.quorum || n > w.quorum && again {", "if n == w.quorum && !again {"}},
		Package: "./backend/redlock", Test: "TestWakeSurvivesNodes", Needs: "redis-server",
	},
}

var inRedlock = in("./backend/redlock")
