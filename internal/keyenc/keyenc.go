// Package keyenc makes the text that stands for the parameters of a lock: values that may be
// the same thing have one text, in every process and through every way in. The rules are
// in docs/keys.md.
//
// A parameter is a text or a list. A list is joined with ":", and one inside another is in
// parentheses. A list of one is its element; nil and a list of none are the empty text.
// So no text stands for two lists, whatever strings they hold.
//
// The text is a promise: a change to it changes keys, and processes of the old and the new
// version would no longer exclude each other.
package keyenc

// Skip stands in place of parameters of a call that needs no lock. It cannot be
// encoded. Its text only shows in a log.
const Skip skip = "distlock.Skip"

type skip string

// Fault stands for parameters that a middleware could not make: a Site returns Err, after
// its hooks have been told.
type Fault struct{ Err error }
