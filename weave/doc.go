// Package weave is for programs whose //distlock:lock comments stand on the exported
// functions themselves, as in
//
//	//distlock:lock prefix:shop: value:pay param:orderID keyTimeout:10s
//	func (s *Service) Pay(ctx context.Context, orderID int64) error {
//
// and which are built with orchestrion, a weaver of the compiler's input. The package
// has no code. It holds the instructions for the weaver, orchestrion.yml, and is
// imported, blank, in the file orchestrion.tool.go beside the program's go.mod.
//
// Built without the weaver, the functions run without their locks: call
// [github.com/distlock-go/distlock.RequireWoven] in main and in TestMain. The page
// docs/weaving.md tells what to add, what it costs and what fails open. The way that
// needs no weaver, and fails closed, is distlockgen.
package weave
