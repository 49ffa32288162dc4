// Package examples has code that uses distlock beside other libraries: in from, what
// the page docs/migrating.md shows; in the other directories, adapters. It is a module
// of its own, so that programs that use distlock do not require these libraries.
package examples
