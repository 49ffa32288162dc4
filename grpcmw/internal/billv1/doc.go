// Package billv1 is a service for tests and examples, with locks as options in its
// .proto file.
package billv1

//go:generate sh ../../../proto/generate.sh grpcmw/internal/billv1/bill.proto
