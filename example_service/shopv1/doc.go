// Package shopv1 is the gRPC interface of the example service, generated from
// shop.proto.
package shopv1

//go:generate sh generate.sh
