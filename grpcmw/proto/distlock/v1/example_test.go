package distlockv1_test

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	distlockv1 "github.com/distlock-go/distlock/grpcmw/proto/distlock/v1"
)

// Example reads the lock from the options of a method, as the package grpcmw does. In a
// .proto file the option is
//
//	option (distlock.v1.lock) = {value: "pay" params: ["order_id"]};
func Example() {
	options := &descriptorpb.MethodOptions{}
	proto.SetExtension(options, distlockv1.E_Lock, &distlockv1.Lock{Value: "pay", Params: []string{"order_id"}})

	lock, declared := proto.GetExtension(options, distlockv1.E_Lock).(*distlockv1.Lock)
	fmt.Println(declared, lock.GetValue(), lock.GetParams())
	// Output: true pay [order_id]
}
