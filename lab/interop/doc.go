// Package interop tests distlock beside the lock libraries of Java, with the real
// libraries in real JVMs.
package interop
