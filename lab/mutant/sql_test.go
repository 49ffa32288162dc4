package mutant

// sqlStore has mutants of the SQL of sqllock. Their tests use SQLite, which needs no server.
var sqlStore = []mutant{
	inSQL("held-row-is-free", "P1", "an attempt takes a key that another owner has", "TestConformance/SQLite/exclusion/one-holder",
		edit{"backend/sqllock/statements.go", "AND l.owner = '' AND l.busy = 0{commits}`\n", "AND l.busy = 0{commits}`\n"}),
	inSQL("token-of-the-last-owner", "P3", "an owner gets the token of the owner before", "TestConformance/SQLite/tokens/rise-over-release",
		edit{"backend/sqllock/statements.go", `next = "{max}(l.token + :tokens, {now})"`, `next = "l.token"`}),
	inSQL("guard-of-any-token", "P4", "Guard accepts the token of an earlier holder", "TestGuardBeforeRelease/SQLite",
		edit{"backend/sqllock/statements.go", "AND owner <> '' AND prior_token < :token AND token >= :token\nRETURNING 1", "AND token >= :token\nRETURNING 1"}),
	inSQL("row-of-another", "P6", "a release does not check the owner", "TestConformance/SQLite/release/others",
		edit{"backend/sqllock/statements.go", "AND l.owner = :owner AND l.busy = 0`\n", "AND l.owner <> :key AND l.busy = 0`\n"}),
}

var inSQL = in("./backend/sqllock")
