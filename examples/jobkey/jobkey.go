// Package jobkey makes keys of names that are not made for it, such as the job "Daily report
// (north)", an upload or a certificate, for all adapters by the same rule.
//
// The key is Prefix and the text of [distlock.Plain] for the name: "report" stays as it is,
// "Daily report" is "Daily%20report", and a long name is cut and ends with a digest. Two names
// never have one key.
package jobkey

import (
	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/wiring"
)

// rule makes the text; its keys begin with base.
var rule = distlock.Opts{Value: "job", ParamLock: true, Hasher: distlock.Plain()}

const base = "job:"

// Of returns the key of a job, without the Prefix. A name of more than a MiB stays as it is,
// and a Locker refuses it.
func Of(name string) string {
	key, err := wiring.Key(rule, name)
	if err != nil {
		return name
	}
	return key[len(base):]
}

// Check panics if jobs cannot be locked under o, whatever their names: otherwise each of them
// would be refused when it is due. o.Value is not checked.
func Check(l *distlock.Locker, o distlock.Opts) {
	if o.ParamLock {
		panic("jobkey: ParamLock is set, but the key of a job is its name")
	}
	o.Value, o.ParamLock, o.Hasher = "job", true, distlock.Plain()
	wiring.Bind(l, o)
}
