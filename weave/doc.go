// Package weave locks exported functions by a //distlock:lock comment on the functions
// themselves:
//
//	//distlock:lock prefix:shop: value:pay param:orderID keyTimeout:10s
//	func (s *Service) Pay(ctx context.Context, orderID int64) error {
//
// It is experimental. The program is built with orchestrion, which weaves code into the
// compiler's input: the file orchestrion.yml of this package tells it what to write, and
// the program imports the package, blank, in the file orchestrion.tool.go beside its
// go.mod.
//
// Built without the weaver, the functions run without their locks: call [Require] in
// main and in TestMain. The page docs/weaving.md says what to add, what it costs and
// what fails open. distlockgen needs no weaver and fails closed.
//
// Programs call [Require] and [Woven]. The other functions are for woven code.
package weave
