// Package shopv1 is the gRPC interface of the example service, generated from
// shop.proto.
package shopv1

//go:generate sh ../../grpcmw/proto/generate.sh example_service/shopv1/shop.proto
