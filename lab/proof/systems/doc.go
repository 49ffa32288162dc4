// Package systems has no code. Its test type-checks all modules of the workspace for
// other systems, where an int has 32 bits and there are no Unix signals.
package systems
