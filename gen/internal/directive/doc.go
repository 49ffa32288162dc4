// Package directive reads the comment that declares a lock,
//
//	//distlock:lock prefix:shop: value:pay param:orderID keyTimeout:10s
//
// for all tools that know them. The grammar is
//
//	directive = "//distlock:lock" { space option } .
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
package directive
