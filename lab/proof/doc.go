// Package proof contains only tests. Each test injects a fault into processes or
// clocks, for one row of the fault matrix, and checks what the locks do through the
// public API.
package proof
