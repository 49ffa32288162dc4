// Package jobkey makes keys of names that are not made for it, such as the job "Daily
// report (north)", an upload or a certificate, for all adapters by the same rule.
//
// The key is Prefix and the text of [distlock.Key] for the name: "report" stays as it
// is, "Daily report" is "Daily%20report", and a long name is a digest. Two names never
// have one key.
package jobkey

import (
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/wiring"
)

// longest is the most bytes that a text may have. It leaves room for a Prefix.
const longest = 96

// Of returns the key of a job, without the Prefix. A name of more than a MiB is no key,
// and a Locker refuses it.
func Of(name string) string {
	base := strings.Repeat("x", 200-len(":")-longest)
	return strings.TrimPrefix(distlock.Key(base, name), base)[len(":"):]
}

// Check panics if jobs cannot be locked under o, whatever their names: otherwise each
// of them would be refused when it is due. o.Value is not checked.
func Check(l *distlock.Locker, o distlock.Opts) {
	if o.ParamLock {
		panic("jobkey: ParamLock is set, but the key of a job is its name")
	}
	o.Value = strings.Repeat("x", longest)
	wiring.Bind(l, o)
}
