package weave

// Woven reports whether the program was built with the weaver, so that the functions
// with a //distlock:lock comment of their own take their locks. Functions that
// distlockgen has generated need no weaver.
func Woven() bool { return woven() }

// woven is what the weaver changes.
func woven() bool { return false }

// Require panics if the program was built without the weaver. Call it first in main and
// in TestMain: for a plain go build, //distlock:lock is a comment like any other, and
// the functions run without their locks. Require cannot see a comment that is misspelt
// or misplaced; distlockvet does.
func Require() {
	if !woven() {
		panic("distlock: this program needs the weaver and was built without it, so that its //distlock:lock comments do nothing: " +
			"build it with orchestrion, and import github.com/distlock-go/distlock/weave in orchestrion.tool.go")
	}
}
