// Package api tests that api.txt lists the exported API of every public package of the
// module, one name on a line. After a wanted change:
//
//	go test ./internal/api -update
package api
