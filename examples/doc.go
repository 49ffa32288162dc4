// Package examples has programs that use distlock beside other libraries. It is a module
// of its own, so that programs that use distlock do not require these libraries.
package examples
