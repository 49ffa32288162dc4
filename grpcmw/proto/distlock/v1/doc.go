// Package distlockv1 is the option by which a .proto file says under which lock
// an rpc runs, generated from lock.proto. Code that protoc-gen-go generates from
// a file with the option imports this package by itself; grpcmw.FromOptions
// reads it.
package distlockv1

//go:generate sh ../../generate.sh grpcmw/proto/distlock/v1/lock.proto
