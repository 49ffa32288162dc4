// Package spec has the lease protocol in Quint, for readers, and in Promela, for SPIN: see
// README.md. Its tests visit every state and run random histories.
package spec
