package grpcmw_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
	distlockv1 "github.com/distlock-go/distlock/proto/distlock/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// declare returns a file with a service that takes messages of odd.proto and has
// one method for each lock, M0, M1 and so on; nil is one without.
func declare(t *testing.T, clientStreams bool, locks ...*distlockv1.Lock) *protoregistry.Files {
	t.Helper()
	in := proto.String(".grpcmw.test.Odd")
	service := &descriptorpb.ServiceDescriptorProto{Name: proto.String("DeclaredService")}
	for i, lock := range locks {
		m := &descriptorpb.MethodDescriptorProto{
			Name: proto.String(fmt.Sprint("M", i)), InputType: in, OutputType: in, ClientStreaming: &clientStreams,
		}
		if lock != nil {
			m.Options = &descriptorpb.MethodOptions{}
			proto.SetExtension(m.Options, distlockv1.E_Lock, lock)
		}
		service.Method = append(service.Method, m)
	}
	return register(t, &descriptorpb.FileDescriptorProto{
		Name: proto.String("declared.proto"), Package: proto.String("declared"), Syntax: proto.String("proto3"),
		Dependency: []string{"grpcmw/test/odd.proto"},
		Service:    []*descriptorpb.ServiceDescriptorProto{service},
	})
}

func register(t *testing.T, file *descriptorpb.FileDescriptorProto) *protoregistry.Files {
	t.Helper()
	f, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	files := new(protoregistry.Files)
	if err := files.RegisterFile(f); err != nil {
		t.Fatal(err)
	}
	return files
}

func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

// locked is a good option, changed.
func locked(change func(*distlockv1.Lock)) *distlockv1.Lock {
	lock := &distlockv1.Lock{Prefix: "shop:", Value: "pay", Params: []string{"s"}}
	change(lock)
	return lock
}

func params(names ...string) *distlockv1.Lock {
	return locked(func(l *distlockv1.Lock) { l.Params = names })
}

func nothing(context.Context, any) (any, error) { return nil, nil }

func TestBadOptionsArePanicsWhenItIsWired(t *testing.T) {
	seconds := func(s int64, nanos int32) *durationpb.Duration {
		return &durationpb.Duration{Seconds: s, Nanos: nanos}
	}
	newer := locked(func(l *distlockv1.Lock) {
		l.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	})
	for _, c := range []struct {
		explanation string
		lock        *distlockv1.Lock
		want        []string
	}{
		{"an option without anything", &distlockv1.Lock{}, []string{"value is empty"}},
		{"no value", locked(func(l *distlockv1.Lock) { l.Value = "" }), []string{"value is empty"}},
		{"a space in the value", locked(func(l *distlockv1.Lock) { l.Value = "p y" }), []string{`prefix+value "shop:p y" has white space at byte 6`}},
		{"no such param", params("order_id"), []string{`params: "order_id": message grpcmw.test.Odd has no field "order_id"`}},
		{"no such nested param", params("self.self.id"), []string{`params: "self.self.id": message grpcmw.test.Odd has no field "id"`}},
		{"all params that are wrong", params("a", "s", "self.b"), []string{
			`params: "a": message grpcmw.test.Odd has no field "a"`, `params: "self.b": message grpcmw.test.Odd has no field "b"`,
		}},
		{"an empty param", params(""), []string{`params: empty name in the path ""`}},
		{"half a param", params("self."), []string{`params: empty name in the path "self."`}},
		{"a message", params("self"), []string{`params: "self": field grpcmw.test.Odd.self is a message: name a field of it`}},
		{"a list", params("list"), []string{`params: "list": field grpcmw.test.Odd.list is repeated`}},
		{"a map", params("mapped"), []string{`params: "mapped": field grpcmw.test.Odd.mapped is a map`}},
		{"a float", params("float"), []string{`params: "float": field grpcmw.test.Odd.float is a float, of which no key can be made`}},
		{"a field of a string", params("s.x"), []string{`params: "s.x": field grpcmw.test.Odd.s is a string and has no fields`}},
		{"a lease of nothing", locked(func(l *distlockv1.Lock) { l.KeyTimeout = seconds(0, 0) }), []string{"key_timeout is below one millisecond: 0s"}},
		{"a negative lease", locked(func(l *distlockv1.Lock) { l.KeyTimeout = seconds(-1, 0) }), []string{"key_timeout is negative: -1s"}},
		{"a short lease", locked(func(l *distlockv1.Lock) { l.KeyTimeout = seconds(0, 1000) }), []string{"key_timeout is below one millisecond: 1µs"}},
		{"a long lease", locked(func(l *distlockv1.Lock) { l.KeyTimeout = seconds(300_000_000_000, 0) }), []string{"key_timeout is above 8784h0m0s: 2562047h47m16.854775807s"}},
		{"no duration", locked(func(l *distlockv1.Lock) { l.MaxHold = seconds(1, -1) }), []string{"max_hold is not a duration: 1 seconds and -1 nanos"}},
		{"no interval", locked(func(l *distlockv1.Lock) { l.RetryInterval = seconds(0, 0) }), []string{"retry_interval is below one millisecond: 0s"}},
		{"a short wait", locked(func(l *distlockv1.Lock) { l.MaxWait = seconds(0, 1000) }), []string{"max_wait is below one millisecond: 1µs"}},
		{"a wait of nothing", locked(func(l *distlockv1.Lock) { l.MaxWait = seconds(0, 0) }), []string{"max_wait is below one millisecond: 0s"}},
		{"a negative wait", locked(func(l *distlockv1.Lock) { l.MaxWait = seconds(-3, 0) }), []string{"max_wait is negative: -3s"}},
		{"a hold above the other", locked(func(l *distlockv1.Lock) { l.MinHold, l.MaxHold = seconds(2, 0), seconds(1, 0) }), []string{"min_hold is above max_hold: 2s, 1s"}},
		{"no such mode", locked(func(l *distlockv1.Lock) { l.Mode = 7 }), []string{"mode is unknown: 7"}},
		{"too many permits", locked(func(l *distlockv1.Lock) { l.Permits = 1_000_001 }), []string{"permits is above 1000000: 1000001"}},
		{"permits for readers", locked(func(l *distlockv1.Lock) { l.Permits, l.Mode = 2, distlockv1.Mode_MODE_SHARED }), []string{"permits is set but mode is shared: 2"}},
		{"a field of a newer version", newer, []string{"has fields that this version of grpcmw does not know, 3 bytes"}},
		{"several at once", locked(func(l *distlockv1.Lock) {
			l.Value, l.KeyTimeout, l.Mode, l.Params = "", seconds(-1, 0), 7, []string{"none"}
		}), []string{
			"mode is unknown: 7", "value is empty", "key_timeout is negative: -1s", `params: "none": message grpcmw.test.Odd has no field "none"`,
		}},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			files := declare(t, false, c.lock)
			var lines []string
			for _, line := range c.want {
				lines = append(lines, `option (distlock.v1.lock) of "/declared.DeclaredService/M0": `+line)
			}
			want := "grpcmw: FromFiles: " + strings.Join(lines, "\n")
			if got := panicOf(func() { grpcmw.FromFiles(files) }); got != want {
				t.Errorf("panic\n%s, want\n%s", got, want)
			}
		})
	}
}

func TestAllBadOptionsAreToldAtOnce(t *testing.T) {
	files := declare(t, false, params("x"), nil, params("s"), locked(func(l *distlockv1.Lock) { l.Value = "" }))
	const want = `grpcmw: FromFiles: option (distlock.v1.lock) of "/declared.DeclaredService/M0": params: "x": message grpcmw.test.Odd has no field "x"
option (distlock.v1.lock) of "/declared.DeclaredService/M3": value is empty`
	if got := panicOf(func() { grpcmw.FromFiles(files) }); got != want {
		t.Errorf("panic\n%s, want\n%s", got, want)
	}
}

func TestFilesWithoutOptionsAreRefused(t *testing.T) {
	for want, f := range map[string]func(){
		"grpcmw: FromFiles: nil Files": func() { grpcmw.FromFiles(nil) },
		"grpcmw: FromFiles: no method has the option (distlock.v1.lock)": func() {
			grpcmw.FromFiles(declare(t, false, nil, nil))
		},
		`grpcmw: FromFiles: option (distlock.v1.lock) of "/declared.DeclaredService/M0": params: the client streams, so there is no one request to take fields from`: func() {
			grpcmw.FromFiles(declare(t, true, params("s")))
		},
	} {
		if got := panicOf(f); got != want {
			t.Errorf("panic\n%s, want\n%s", got, want)
		}
	}
}

// TestOptionsOfDescriptorsMadeAtRunTime: the parser of the file need not know the
// option, as in a proxy.
func TestOptionsOfDescriptorsMadeAtRunTime(t *testing.T) {
	var known *descriptorpb.FileDescriptorProto
	declare(t, false, params("s"), nil).RangeFiles(func(f protoreflect.FileDescriptor) bool {
		known = protodesc.ToFileDescriptorProto(f)
		return true
	})
	raw, err := proto.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	unknown := new(descriptorpb.FileDescriptorProto)
	if err := (proto.UnmarshalOptions{Resolver: new(protoregistry.Types)}).Unmarshal(raw, unknown); err != nil {
		t.Fatal(err)
	}
	if proto.HasExtension(unknown.GetService()[0].GetMethod()[0].GetOptions(), distlockv1.E_Lock) {
		t.Fatal("the option is known")
	}
	s := testkit.NewStore()
	i := grpcmw.UnaryServerInterceptor(testkit.NewLocker(t, s, distlock.Config{}), grpcmw.FromFiles(register(t, unknown)))
	if _, err := direct(t.Context(), i, "/declared.DeclaredService/M0", oddMessage(map[string]any{"s": "u1"}), nothing); err != nil {
		t.Error(err)
	}
	if _, err := direct(t.Context(), i, "/declared.DeclaredService/M1", oddMessage(nil), nothing); err != nil {
		t.Error(err)
	}
	if got := s.Attempts(); len(got) != 1 || got[0] != keyOf(t, "u1") {
		t.Errorf("keys %q", got)
	}
}

// TestFilesTellWhatStreams: their services need not be linked into the program.
func TestFilesTellWhatStreams(t *testing.T) {
	r := grpcmw.FromFiles(declare(t, true, &distlockv1.Lock{Value: "pay"}))
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
	const want = `grpcmw: UnaryServerInterceptor: rule for "/declared.DeclaredService/M0": the method streams: its rule belongs to StreamServerInterceptor`
	if got := panicOf(func() { grpcmw.UnaryServerInterceptor(l, r) }); got != want {
		t.Errorf("panic\n%s, want\n%s", got, want)
	}
}
