// Command wellknown writes the .proto files that lock.proto imports to standard
// output, as the FileDescriptorSet that protoc's -descriptor_set_in takes. Not
// every installation of protoc comes with them, and every one of the protobuf
// module does.
package main

import (
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"
)

func main() {
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{
		protodesc.ToFileDescriptorProto(descriptorpb.File_google_protobuf_descriptor_proto),
		protodesc.ToFileDescriptorProto(durationpb.File_google_protobuf_duration_proto),
	}})
	if err == nil {
		_, err = os.Stdout.Write(set)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "wellknown:", err)
		os.Exit(1)
	}
}
