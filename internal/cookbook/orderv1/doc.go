// Package orderv1 is the service of a recipe, with a lock as an option in its .proto file.
package orderv1

//go:generate sh ../../../proto/generate.sh internal/cookbook/orderv1/order.proto
