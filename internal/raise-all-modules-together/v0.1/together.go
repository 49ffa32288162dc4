// Package together is what the modules of a minor version import from its library. The
// library of another one does not have the path, so the go command names what is to be done.
package together
