package grpcmw

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// findMethod returns the description of a method, or nil if its service is not linked
// into the program, for example with another codec than protobuf. It returns an error
// if the service does not have the method, or if the package has other services but not
// this one: a misspelt name would lock nothing.
func findMethod(fullMethod string) (protoreflect.MethodDescriptor, error) {
	service, method, ok := splitMethod(fullMethod)
	if !ok {
		return nil, errors.New(`the method is not of the form "/package.Service/Method"`)
	}
	name := protoreflect.FullName(service)
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		if others := servicesBeside(name); len(others) > 0 {
			return nil, fmt.Errorf("package %s has no service %s, only %s",
				name.Parent(), name.Name(), strings.Join(others, ", "))
		}
		return nil, nil //nolint:nilnil // not known, which is not wrong
	}
	sd, ok := found.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is not a service", service)
	}
	md := sd.Methods().ByName(protoreflect.Name(method))
	if md == nil {
		return nil, fmt.Errorf("service %s has no method %s", service, method)
	}
	return md, nil
}

func splitMethod(fullMethod string) (service, method string, ok bool) {
	rest, ok := strings.CutPrefix(fullMethod, "/")
	if !ok || strings.ContainsAny(rest, " \t\r\n") {
		return "", "", false
	}
	service, method, ok = strings.Cut(rest, "/")
	return service, method, ok && service != "" && method != "" && !strings.Contains(method, "/")
}

// servicesBeside returns the linked services in the package of a service, or nothing
// for a service without a package.
func servicesBeside(service protoreflect.FullName) (names []string) {
	if service.Parent() == "" {
		return nil
	}
	protoregistry.GlobalFiles.RangeFilesByPackage(service.Parent(), func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			names = append(names, string(f.Services().Get(i).Name()))
		}
		return true
	})
	return names
}

// messageType returns the Go type of a message, or a dynamic type if none is linked.
func messageType(d protoreflect.MessageDescriptor) protoreflect.MessageType {
	if t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName()); err == nil {
		return t
	}
	return dynamicpb.NewMessageType(d)
}

func streams(d protoreflect.MethodDescriptor) bool {
	return d.IsStreamingClient() || d.IsStreamingServer()
}
