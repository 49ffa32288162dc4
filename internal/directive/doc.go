// Package directive reads the comment that declares a lock,
//
//	//distlock:lock prefix:shop: value:pay param:orderID keyTimeout:10s
//
// for all tools that know it. It is the one grammar:
//
//	directive = "//distlock:lock" { space option } .
//	option    = name [ ":" value ] .
//	value     = word | '"' { any but '"' } '"' | "'" { any but "'" } "'" .
//
// A word has neither white space nor quotes in it. Quotes go around a whole
// value and know no escapes, so that a Go expression stays as it is:
// key:'fmt.Sprintf("%04d", n)'.
//
// The options are the fields of [distlock.Opts] in lower camel case: prefix,
// value, paramLock, hasher, keyTimeout, retryCount, retryInterval, maxWait, mode,
// permits, maxHold, minHold, fencing, noWatchdog and maxWaiters. In place of Params
// stand param, which names a parameter, and key, which is a Go expression; both may be
// given several times, and both imply paramLock. Flags stand alone or have true
// or false; durations have units; hasher is a Go expression. Beside them, as
// names what is generated, and locker is a Go expression for the
// *distlock.Locker.
package directive
