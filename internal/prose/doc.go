// Package prose has no code: its tests count the words that make a comment hard to
// read, in every Go, Lua, shell and make file of the repository.
package prose
