// Package api tests that api.txt lists the exported API of every public package, one
// name on a line: of this module, and of the backends, otellock and promlock, which are
// modules of their own. Each of them has an example of the whole package.
// After a wanted change:
//
//	go test ./internal/api -update
package api
