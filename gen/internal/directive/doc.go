// Package directive reads the comment that declares a lock,
//
//	//distlock:lock prefix:shop: value:pay param:orderID keyTimeout:10s
//
// and the comment above a package clause with options for all locks of the package,
//
//	//distlock:defaults keyTimeout:5s maxWait:3s
//
// for all tools that know them. The grammar is
//
//	directive = ( "//distlock:lock" | "//distlock:defaults" ) { space option } .
//	option    = name [ ":" value ] .
//	value     = word | '"' { any but '"' } '"' | "'" { any but "'" } "'" .
//
// A word has no white space and no quotes. Quotes enclose a whole value and have no
// escapes, so that a Go expression stays as it is: key:'fmt.Sprintf("%04d", n)'.
//
// The options are the fields of [distlock.Opts] in lower camel case, such as
// keyTimeout; the error for an unknown option lists them. Params has two options
// instead: param, which names a parameter, and key, which is a Go expression. Both
// may be given several times, and both imply paramLock. Bools stand alone or have
// the value true or false; durations have units; hasher and keyFormat are Go expressions.
// Two more options are as, the name of what is generated, and locker, a Go expression for the
// *distlock.Locker.
//
// What is not in this grammar is refused, and so is a value that is hardly meant as it stands,
// such as one with a comma behind it.
//
// An option of the lock itself comes before one of the package, and that before the default
// of [distlock.Opts]. What makes one lock different from another is no default: value,
// paramLock, param, key, as, and hasher, which [distlock.Config] has for all locks.
package directive
