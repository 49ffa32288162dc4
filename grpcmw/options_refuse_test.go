package grpcmw_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/distlock-go/distlock/grpcmw"
	distlockv1 "github.com/distlock-go/distlock/grpcmw/proto/distlock/v1"
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
		{"no such param", params("order_id"), []string{`params: "order_id": message grpcmw.test.Odd has no field "order_id"`}},
		{"all params that are wrong", params("a", "s", "self.b"), []string{
			`params: "a": message grpcmw.test.Odd has no field "a"`, `params: "self.b": message grpcmw.test.Odd has no field "b"`,
		}},
		{"an empty param", params(""), []string{`params: empty name in the path ""`}},
		{"a lease of nothing", locked(func(l *distlockv1.Lock) { l.KeyTimeout = seconds(0, 0) }), []string{"key_timeout is below one millisecond: 0s"}},
		{"no duration", locked(func(l *distlockv1.Lock) { l.MaxHold = seconds(1, -1) }), []string{"max_hold is not a duration: 1 seconds and -1 nanos"}},
		{"no such mode", locked(func(l *distlockv1.Lock) { l.Mode = 7 }), []string{"mode is unknown: 7"}},
		{"permits for readers", locked(func(l *distlockv1.Lock) { l.Permits, l.Mode = 2, distlockv1.Mode_MODE_SHARED }), []string{"permits is set but mode is shared: 2"}},
		{"a field of a newer version", newer, []string{"has fields that this version of distlock does not know, 3 bytes"}},
		{"several at once", locked(func(l *distlockv1.Lock) {
			l.Value, l.KeyTimeout, l.Mode, l.Params = "", seconds(-1, 0), -1, []string{"none"}
		}), []string{
			"mode is unknown: -1", "value is empty", "key_timeout is negative: -1s", `params: "none": message grpcmw.test.Odd has no field "none"`,
		}},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			files := declare(t, false, c.lock)
			var lines []string
			for _, line := range c.want {
				lines = append(lines, `option (distlock.v1.lock) of "/declared.DeclaredService/M0": `+line)
			}
			want := "grpcmw: FromOptions: " + strings.Join(lines, "\n")
			if got := panicOf(func() { grpcmw.FromFiles(files) }); got != want {
				t.Errorf("panic\n%s, want\n%s", got, want)
			}
		})
	}
	const none = "grpcmw: FromOptions: no method has the option (distlock.v1.lock)"
	if got := panicOf(func() { grpcmw.FromFiles(declare(t, false, nil)) }); got != none {
		t.Errorf("without an option: panic %q, want %q", got, none)
	}
}
