package mutant

// requests has mutants of what a request locks, and of what its client sees.
var requests = []Mutant{
	{
		Name: "json-in-another-case",
		Rule: "a JSON key in another case is another key",
		Edits: []Edit{{"httpmw/json.go", "case !bytes.EqualFold(field, []byte(name)):",
			"case string(field) != name:"}},
		Package: "./httpmw", Test: "TestJSONField",
	},
	{
		Name: "json-in-any-case",
		Rule: "a JSON key in another case is the field",
		Edits: []Edit{{"httpmw/json.go", "		case string(field) != name:\n			return nil, \"appears in another spelling\"\n",
			""}},
		Package: "./httpmw", Test: "TestJSONField",
	},
	{
		Name: "body-left-open",
		Rule: "the body that was read ahead is never closed",
		Edits: []Edit{{"httpmw/body.go", "func (b *replay) Close() error { return b.orig.Close() }",
			"func (b *replay) Close() error { return nil }"}},
		Package: "./httpmw", Test: "TestTheBodyIsClosedByTheHandlerAlone",
	},
	{
		Name: "wiring-blamed-on-the-client",
		Rule: "a wildcard that the route does not have is reported as missing from the request",
		Edits: []Edit{{"httpmw/wiring.go", "if !hasWildcard(r.Pattern, name) {",
			"if false {"}},
		Package: "./httpmw", Test: "TestWrongWiringIsTheServersFault",
	},
	{
		Name: "error-shown-to-clients",
		Rule: "a client sees the key, the holder and the address of the store",
		Edits: []Edit{{"httpmw/problem.go", "p.RetryAfter = e.RetryAfter",
			"p.RetryAfter, p.Detail = e.RetryAfter, err.Error()"}},
		Package: "./httpmw", Test: "TestRefusals",
	},
	{
		Name: "error-sent-in-a-status",
		Rule: "the same over gRPC",
		Edits: []Edit{{"grpcmw/status.go", "status.New(a.code, a.text)",
			"status.New(a.code, err.Error())"}},
		Package: "./grpcmw", Test: "TestRefusals",
	},
	{
		Name: "page-shows-other-keys",
		Rule: "WithPrefix does not limit the key in the address",
		Edits: []Edit{{"lockui/locks.go", "		err = h.checkKey(name)\n",
			"		err = nil\n"}},
		Package: "./lockui", Test: "TestPrefixCannotBeLeft",
	},
	{
		Name: "page-releases-other-keys",
		Rule: "WithPrefix does not limit a release",
		Edits: []Edit{{"lockui/release.go", "err := h.checkKey(key); err != nil",
			"false"}},
		Package: "./lockui", Test: "TestPrefixCannotBeLeft",
	},
	{
		Name: "page-releases-for-other-sites",
		Rule: "a page of another origin releases a key in the name of its visitor",
		Edits: []Edit{{"lockui/release.go", "h.origins.Check(r) != nil",
			"false"}},
		Package: "./lockui", Test: "TestReleaseFromAnotherOrigin",
	},
	{
		Name: "each-viewer-asks-the-store",
		Rule: "a hundred viewers cost the store a hundred times the requests",
		Edits: []Edit{{"lockui/watch.go", "	if !ok {\n		ctx, stop :=",
			"	if ok = false; !ok {\n		ctx, stop :="}},
		Package: "./lockui", Test: "TestOnePollForAllViewers",
	},
}
