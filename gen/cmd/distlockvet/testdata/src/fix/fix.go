// want +1 `//distlok:defaults is a comment without effect; write //distlock:defaults maxWait:5s`
//distlok:defaults maxWaite:5s

// Package fix has misspelt directives.
package fix

import "context"

type store interface {
	// want +2 `//distlock:lok is a comment without effect; write //distlock:lock value:marker`
	//
	//distlock:lok value:marker
	Marker(ctx context.Context) error

	// want +1 `// distlock:lock is a comment without effect; write //distlock:lock value:space fencing`
	// distlock:lock value:space fencing
	Space(ctx context.Context) error

	// want +2 `//Distlock:Lock is a comment without effect`
	//
	//Distlock:Lock value:case
	Case(ctx context.Context) error

	// Both are mended at once.
	//
	// want +2 `//dislock:lock is a comment without effect`
	//
	//dislock:lock valeu:twice keyTimeot:3s
	Twice(ctx context.Context, id int) error

	// want +2 `unknown option keyTimeot: did you mean keyTimeout\?; write //distlock:lock value:options keyTimeout:3s retryCount:3 paramLock`
	//
	//distlock:lock value:options keyTimeot:3s retry:3 ParamLock
	Options(ctx context.Context, id int) error

	// want +2 `unknown option retry: did you mean retryInterval\?; write //distlock:lock value:names retryInterval:200ms maxWait:1s param:a param:b`
	//
	//distlock:lock value:names retry:200ms max_wait:1s param:a parm:b
	Names(ctx context.Context, a, b int) error

	// want +2 `//distlock:lock is a comment without effect; write //distlock:lock value:a`
	//
	//distlock:lock:value:a
	Colon(ctx context.Context) error

	// want +2 `prefix:my-,: options are name:value .*; write //distlock:lock prefix:my- value:test`
	//
	//distlock:lock prefix:my-, value:test
	Comma(ctx context.Context) error

	// A unit is guessed, so it is only said.
	//
	// want +2 `keyTimeout: "3000L" is not a duration, .*; write //distlock:lock value:unit keyTimeout:3s`
	//
	//distlock:lock value:unit keyTimeout:3000L
	Unit(ctx context.Context) error

	// What is not certain, or would be wrong in another way, has no fix.
	//
	// want +2 `unknown option timeout: there are` `unknown option minhld: did you mean minHold\?` `unknown option iaxHold: did you mean maxHold\?` `unknown option mHold: there are` `unknown option valeu: did you mean value\?` `unknown option retry: there are`
	//
	//distlock:lock value:several timeout:3s minhld:1s iaxHold:2s mHold valeu:x retry:0
	Several(ctx context.Context) error

	// want +1 `// distlock:lock is a comment without effect`
	// distlock:lock is how this would begin.
	Prose(ctx context.Context) error

	// want +3 `//distlok:lock is a comment without effect`
	//
	//distlock:lock value:second
	//distlok:lock value:third
	Second(ctx context.Context) error
}

// want +2 `//distlock:lok is a comment without effect`
//
//distlock:lok value:variable
var variable store

// want +1 `// distlock:defaults is a comment without effect`
// distlock:defaults keyTimeout:1s
