package distlock

// Woven reports whether the program was built with the weaver, so that the functions
// with a //distlock:lock comment of their own take their locks. Functions that
// distlockgen has generated need no weaver. See the package weave.
func Woven() bool { return woven() }

// woven is what the weaver changes.
func woven() bool { return false }

// RequireWoven panics if the program was built without the weaver. Call it first
// thing in main and in TestMain: a plain go build takes //distlock:lock for any other
// comment, and the functions run without their locks. It cannot see a comment that
// is misspelt or misplaced; distlockvet does.
func RequireWoven() {
	if !woven() {
		panic("distlock: this program needs the weaver and was built without it, so that its //distlock:lock comments do nothing: " +
			"build it with orchestrion, and import github.com/distlock-go/distlock/weave in orchestrion.tool.go")
	}
}
