package mutant

// keys has mutants of the rules for keys: hash tags, keys as other programs make them, and
// the messages of redlock that a key is free.
var keys = []Mutant{
	root("two-hash-tags", "a key may have two hash tags", "TestCheckKey",
		Edit{"keybuilder.go", "opening != 1 || closing != 1 ||", ""}),
	root("format-unchecked", "a key from a KeyFormat is not checked", "TestKeyFormatFails",
		Edit{"keyformat.go", "if fault := keyFault(key); fault", `if fault := ""; fault`}),
	root("hasher-of-the-locker-beside-a-format", "the default Hasher of a Locker is set beside a KeyFormat", "TestKeyFormat",
		Edit{"site.go", "o.Hasher == nil && o.KeyFormat == nil", "o.Hasher == nil"}),
	in("./javakey")("bytes-without-sign", "the bytes of a byte[] have no sign", "TestGolden",
		Edit{"javakey/hashcode.go", "int32(int8(list.Index(i).Uint()))", "int32(list.Index(i).Uint())"}),
	in("./javakey")("uuid-as-bytes", "a type with a text of its own is hashed as what it is made of", "TestRefused",
		Edit{"javakey/value.go", "case encoding.TextMarshaler, fmt.Stringer:", "case interface {\n				encoding.TextMarshaler\n				fmt.Stringer\n				never()\n			}:"}),
	in("./backend/internal/rediskit")("companion-as-a-lock", "the companion of a lock may be the key of another lock", "TestCheckKey",
		Edit{"backend/internal/rediskit/names.go", "	if opening > 0 {", "	if true {"}),
	{
		Name:    "companions-in-another-slot",
		Rule:    "the companions of a key with a hash tag are in another slot",
		Edits:   []Edit{{"backend/redislock/scripts.go", "if strings.IndexByte(key, '{') >= 0 {", "if strings.IndexByte(key, '{') >= 1<<20 {"}},
		Package: "./backend/redislock", Test: "TestHashTagInACluster", Needs: "redis-server",
	},
	inRedlock("one-message-wakes", "the message of one node wakes a waiter", "TestVirtualQuorumOfMessagesWakes",
		Edit{"backend/redlock/watch.go", "reached := r.nodes == w.quorum", "reached := r.nodes > 0"}),
	inRedlock("releases-counted-together", "messages about several releases are counted together", "TestVirtualQuorumOfMessagesWakes",
		Edit{"backend/redlock/watch.go", "if w.releases[i].owner == owner {", "if true {"}),
	inRedlock("failed-attempts-wake", "what a failed attempt gives back wakes waiters", "TestVirtualFailedAttemptsWakeNobody",
		Edit{"backend/redlock/lua/release.lua", "if generation < 0 and (mine or not current) then", "if mine or not current then"}),
	inRedlock("shared-nodes-never-given-up", "attempts are brought forward as long as several owners share the nodes", "TestVirtualSharedNodesWake",
		Edit{"backend/redlock/watch.go", "if n < maxSplits {", "if n < 1<<20 {"}),
	inRedlock("holder-taken-for-shared-nodes", "an attempt is brought forward although a quorum has one holder", "TestVirtualSharedNodesWake",
		Edit{"backend/redlock/answer.go", "		if n >= quorum {\n			return false", "		if n > len(as) {\n			return false"}),
	{
		Name:    "interruption-unnoticed",
		Rule:    "a watch that was interrupted does not begin again",
		Edits:   []Edit{{"backend/redlock/watch.go", "if n == w.quorum || n > w.quorum && again {", "if n == w.quorum && !again {"}},
		Package: "./backend/redlock", Test: "TestWakeSurvivesNodes", Needs: "redis-server",
	},
}

var inRedlock = in("./backend/redlock")
