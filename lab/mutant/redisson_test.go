package mutant

// redisson has mutants of the backend that shares locks with Redisson.
var redisson = []mutant{
	redissonMutant("java-is-not-a-holder", "P1", "a hash without the own field is free", "TestHeldInJava",
		edit{"backend/redissonlock/lua/acquire.lua", "if fields > 0 then", "if false then"}),
	redissonMutant("own-counter", "P3", "tokens ignore the counter of RFencedLock", "TestTokensAreSharedWithRFencedLock",
		edit{"backend/redissonlock/lua/acquire.lua", "math.max(tonumber(last) + tokens, micros())", "micros()"}),
	redissonMutant("late-attempt-has-the-key", "P1", "an attempt is granted although its owner has released", "TestOvertakenAttempt",
		edit{"backend/redissonlock/lua/acquire.lua", "elseif released then", "elseif false then"}),
	redissonMutant("abandoned-attempt-is-no-doubt", "P7", "an attempt that was abandoned counts as answered", "TestOvertakenAttempt",
		edit{"backend/redissonlock/acquire.go", "	if !a.known {\n", "	if !a.known && err == nil {\n"}),
}

var redissonMutant = in("./backend/redissonlock")
