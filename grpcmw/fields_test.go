package grpcmw_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// odd is a file with what the generated messages at hand do not have.
var odd = func() protoreflect.FileDescriptor {
	scalar := func(number int32, name string, t descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Type: &t, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	}
	type T = descriptorpb.FieldDescriptorProto
	const (
		str   = descriptorpb.FieldDescriptorProto_TYPE_STRING
		i64   = descriptorpb.FieldDescriptorProto_TYPE_INT64
		u64   = descriptorpb.FieldDescriptorProto_TYPE_UINT64
		msg   = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
		bytes = descriptorpb.FieldDescriptorProto_TYPE_BYTES
	)
	optional, choice, list, mapped := scalar(6, "optional", str), scalar(7, "choice", i64), scalar(8, "list", str), scalar(9, "mapped", msg)
	optional.Proto3Optional, optional.OneofIndex = proto.Bool(true), proto.Int32(1)
	choice.OneofIndex = proto.Int32(0)
	list.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	mapped.Label, mapped.TypeName = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), proto.String(".grpcmw.test.Odd.MappedEntry")
	self := scalar(12, "self", msg)
	self.TypeName = proto.String(".grpcmw.test.Odd")
	stream := func(name string, client, server bool) *descriptorpb.MethodDescriptorProto {
		in := proto.String(".grpcmw.test.Odd")
		return &descriptorpb.MethodDescriptorProto{Name: &name, InputType: in, OutputType: in, ClientStreaming: &client, ServerStreaming: &server}
	}
	f, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("grpcmw/test/odd.proto"), Package: proto.String("grpcmw.test"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("Odd"),
			Field: []*T{
				scalar(1, "s", str), scalar(2, "u", u64), scalar(3, "i", i64), scalar(4, "raw", bytes),
				scalar(5, "zigzag", descriptorpb.FieldDescriptorProto_TYPE_SINT32), optional, choice, list, mapped,
				scalar(10, "float", descriptorpb.FieldDescriptorProto_TYPE_FLOAT), scalar(11, "double", descriptorpb.FieldDescriptorProto_TYPE_DOUBLE),
				self, scalar(13, "fixed", descriptorpb.FieldDescriptorProto_TYPE_FIXED32),
			},
			OneofDecl: []*descriptorpb.OneofDescriptorProto{{Name: proto.String("one")}, {Name: proto.String("_optional")}},
			NestedType: []*descriptorpb.DescriptorProto{{
				Name: proto.String("MappedEntry"), Field: []*T{scalar(1, "key", str), scalar(2, "value", str)},
				Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
			}},
		}},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("OddService"), Method: []*descriptorpb.MethodDescriptorProto{
			stream("Get", false, false), stream("Watch", false, true), stream("Chat", true, true),
		}}},
	}, protoregistry.GlobalFiles)
	if err == nil {
		err = protoregistry.GlobalFiles.RegisterFile(f)
	}
	if err != nil {
		panic(err)
	}
	return f
}()

// oddMessage is made at run time, as in a proxy.
func oddMessage(set map[string]any) *dynamicpb.Message {
	m := dynamicpb.NewMessage(odd.Messages().ByName("Odd"))
	for name, v := range set {
		m.Set(m.Descriptor().Fields().ByName(protoreflect.Name(name)), protoreflect.ValueOf(v))
	}
	return m
}

// oldMessage is what protoc-gen-go made before 2020.
type oldMessage struct {
	ID string `protobuf:"bytes,1,opt,name=id,proto3"`
}

func (m *oldMessage) Reset()         { *m = oldMessage{} }
func (m *oldMessage) String() string { return m.ID }
func (*oldMessage) ProtoMessage()    {}

func TestFields(t *testing.T) {
	cases := []struct {
		explanation string
		fields      []string
		req         any
		want        any    // nil: refused
		detail      string // of the refusal; "": it is not the client's fault
	}{
		{"a string", []string{"response_status.message"}, message("u1"), "u1", ""},
		{"bytes", []string{"payload.body"}, &testpb.SimpleRequest{Payload: &testpb.Payload{Body: []byte("ab")}}, []byte("ab"), ""},
		{"an int32", []string{"response_size"}, &testpb.SimpleRequest{ResponseSize: 7}, 7, ""},
		{"zero", []string{"response_size"}, &testpb.SimpleRequest{}, 0, ""},
		{"a wrapper that is set to zero", []string{"expect_compressed.value"}, &testpb.SimpleRequest{ExpectCompressed: &testpb.BoolValue{}}, false, ""},
		{"an enum", []string{"type"}, &testpb.Payload{}, testpb.PayloadType_COMPRESSABLE, ""},
		{"an enum's name", []string{"type"}, &testpb.Payload{}, "COMPRESSABLE", ""},
		{"an enum without a name", []string{"type"}, &testpb.Payload{Type: 5}, testpb.PayloadType(5), ""},
		{"several", []string{"response_status.message", "response_size"}, message("u1"), []any{"u1", 0}, ""},
		{"a uint64", []string{"u"}, oddMessage(map[string]any{"u": uint64(math.MaxUint64)}), uint64(math.MaxUint64), ""},
		{"a negative int64", []string{"i"}, oddMessage(map[string]any{"i": int64(-1)}), -1, ""},
		{"a sint32", []string{"zigzag"}, oddMessage(map[string]any{"zigzag": int32(-7)}), -7, ""},
		{"a fixed32", []string{"fixed"}, oddMessage(map[string]any{"fixed": uint32(7)}), 7, ""},
		{"an optional", []string{"optional"}, oddMessage(map[string]any{"optional": "x"}), "x", ""},
		{"one of several, set to zero", []string{"choice"}, oddMessage(map[string]any{"choice": int64(0)}), 0, ""},
		{"a field of itself", []string{"self.self.s"}, oddMessage(map[string]any{
			"self": oddMessage(map[string]any{"self": oddMessage(map[string]any{"s": "deep"})}),
		}), "deep", ""},

		{"an empty string", []string{"response_status.message"}, message(""), nil, `field "response_status.message" is empty`},
		{"empty bytes", []string{"payload.body"}, &testpb.SimpleRequest{Payload: &testpb.Payload{}}, nil, `field "payload.body" is empty`},
		{"a message that is not set", []string{"response_status.message"}, &testpb.SimpleRequest{}, nil, `field "response_status.message" is missing`},
		{"one of several", []string{"response_size", "response_status.message"}, &testpb.SimpleRequest{}, nil, `field "response_status.message" is missing`},
		{"an optional that is not set", []string{"optional"}, oddMessage(nil), nil, `field "optional" is missing`},
		{"an optional that is empty", []string{"optional"}, oddMessage(map[string]any{"optional": ""}), nil, `field "optional" is empty`},
		{"none of several", []string{"choice"}, oddMessage(nil), nil, `field "choice" is missing`},
		{"the end of a chain", []string{"self.self.s"}, oddMessage(map[string]any{"self": oddMessage(nil)}), nil, `field "self.self.s" is missing`},
		{"a message of an old generator", []string{"id"}, &oldMessage{ID: "u1"}, "u1", ""},
		{"an empty one", []string{"id"}, &oldMessage{}, nil, `field "id" is empty`},
		{"a nil message", []string{"response_size"}, (*testpb.SimpleRequest)(nil), nil, ""},

		{"no such field", []string{"nothing"}, message("u1"), nil, ""},
		{"a float", []string{"float"}, oddMessage(nil), nil, ""},
		{"a list", []string{"list"}, oddMessage(nil), nil, ""},
		{"no message", []string{"s"}, "text", nil, ""},
		{"nil", []string{"s"}, nil, nil, ""},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			got, err := grpcmw.Fields(c.fields...).Params(t.Context(), "/a/b", c.req)
			if c.want == nil {
				e := new(distlock.KeyError)
				if got != nil || err == nil || errors.As(err, &e) != (c.detail != "") || errors.Is(err, distlock.ErrKey) != (c.detail != "") || e.Detail != c.detail {
					t.Errorf("%#v, %v, want %q", got, err, c.detail)
				}
				return
			}
			if err != nil || keyOf(t, got) != keyOf(t, c.want) {
				t.Errorf("%#v, %v, want %#v", got, err, c.want)
			}
		})
	}
}

// FuzzFields: what a client sends has the key of the values that the generated code
// reads, and a call without one of them is refused.
func FuzzFields(f *testing.F) {
	for _, r := range []*testpb.SimpleRequest{
		{}, message("u1"), {ResponseSize: -7, Payload: &testpb.Payload{Body: []byte{0}}, ExpectCompressed: &testpb.BoolValue{}},
	} {
		wire, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Add([]byte{0x3a, 3, 0x12, 1, 'a', 0x3a, 2, 0x12, 0}) // response_status twice, at last with an empty message
	f.Add([]byte{0x12, 1, 'a', 0x3d, 1, 0, 0, 0})          // fields of another wire type
	f.Fuzz(func(t *testing.T, wire []byte) {
		r := new(testpb.SimpleRequest)
		if proto.Unmarshal(wire, r) != nil {
			return
		}
		body, status := r.GetPayload().GetBody(), r.GetResponseStatus()
		for _, c := range []struct {
			path  string
			value any
			there bool
		}{
			{"response_type", r.GetResponseType(), true},
			{"fill_username", r.GetFillUsername(), true},
			{"expect_compressed.value", r.GetExpectCompressed().GetValue(), r.ExpectCompressed != nil},
			{"payload.body", body, len(body) > 0},
			{"response_status.code", status.GetCode(), status != nil},
			{"response_status.message", status.GetMessage(), status.GetMessage() != ""},
		} {
			got, err := grpcmw.Fields("response_size", c.path).Params(t.Context(), unaryCall, r)
			if !c.there && (got != nil || !errors.Is(err, distlock.ErrKey)) ||
				c.there && (err != nil || keyOf(t, got) != keyOf(t, []any{r.GetResponseSize(), c.value})) {
				t.Errorf("%s of %x: %#v, %v; want %#v, %t", c.path, wire, got, err, c.value, c.there)
			}
		}
	})
}

// Wrap gives the same keys. Over a real server.
func TestOneThingHasOneKeyWhicheverWayItIsReached(t *testing.T) {
	req := message("u1")
	req.ResponseSize = 42
	for _, c := range []struct {
		key  grpcmw.Key
		want string
	}{
		{messageKey, keyOf(t, "u1")},
		{grpcmw.Fields("response_size"), keyOf(t, 42)},
		{grpcmw.Fields("response_status.message", "response_size"), keyOf(t, []any{"u1", 42})},
		{grpcmw.Params(messageKey, grpcmw.Fields("response_size")), keyOf(t, []any{"u1", 42})},
		{grpcmw.Method(), keyOf(t, unaryCall)},
	} {
		s := testkit.NewStore()
		svc := &service{unary: func(ctx context.Context, r *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
			if lease, ok := distlock.FromContext(ctx); !ok || lease.Key() != c.want || lease.Check() != nil {
				t.Errorf("the handler runs under %v", lease)
			}
			return &testpb.SimpleResponse{Username: r.ResponseStatus.Message}, nil
		}}
		client := start(t, tcp, svc, []grpc.ServerOption{grpc.ChainUnaryInterceptor(
			grpcmw.UnaryServerInterceptor(testkit.NewLocker(t, s, distlock.Config{}), rules(unaryCall, c.key)),
		)})
		if resp, err := client.UnaryCall(t.Context(), req); err != nil || resp.Username != "u1" {
			t.Errorf("%v, %v", resp, err)
		}
		if got := s.Attempts(); !slices.Equal(got, []string{c.want}) {
			t.Errorf("keys %q, want %q", got, c.want)
		}
		if !s.Free(t, c.want) {
			t.Error("the lock was not given back")
		}
	}
}
