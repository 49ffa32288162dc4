// Package systems has no code: its test has the compiler's front end look at the
// module as on other systems, where an int has 32 bits and there are no Unix signals.
package systems
