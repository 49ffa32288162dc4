package grpcmw_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
)

// mustBeRefused checks that there is an error and no key.
func mustBeRefused(t *testing.T, got any, err error) {
	t.Helper()
	var k *distlock.KeyError
	if got != nil || !errors.Is(err, distlock.ErrKey) || !errors.As(err, &k) || k.Detail == "" {
		t.Errorf("%#v, %v; want no value and a KeyError", got, err)
	}
}

// onWire reads a field of an Odd from what was sent: the last one that has the
// right wire type counts. Only bytes may be there more than once and count all,
// in messages, where the parts one behind the other are their union.
func onWire(t *testing.T, message []byte, number protowire.Number, want protowire.Type) (all [][]byte, last uint64) {
	t.Helper()
	for len(message) > 0 {
		n, typ, size := protowire.ConsumeTag(message)
		whole := protowire.ConsumeFieldValue(n, typ, message[max(size, 0):])
		if size < 0 || whole < 0 {
			t.Fatal("proto has read what has no end")
		}
		if field := message[size : size+whole]; n == number && typ == want {
			switch typ {
			case protowire.BytesType:
				b, _ := protowire.ConsumeBytes(field)
				all = append(all, b)
			case protowire.VarintType:
				last, _ = protowire.ConsumeVarint(field)
				all = append(all, nil)
			case protowire.Fixed32Type:
				fixed, _ := protowire.ConsumeFixed32(field)
				last = uint64(fixed)
				all = append(all, nil)
			default:
			}
		}
		message = message[size+whole:]
	}
	return all, last
}

// valueOnWire returns what the path names in an Odd, nil if there is no key.
func valueOnWire(t *testing.T, message []byte, path string) any {
	t.Helper()
	name, rest, nested := strings.Cut(path, ".")
	if nested {
		parts, _ := onWire(t, message, 12, protowire.BytesType)
		if parts == nil {
			return nil
		}
		return valueOnWire(t, bytes.Join(parts, nil), rest)
	}
	types := map[string]struct {
		number protowire.Number
		typ    protowire.Type
	}{
		"s": {1, protowire.BytesType}, "raw": {4, protowire.BytesType}, "optional": {6, protowire.BytesType},
		"u": {2, protowire.VarintType}, "i": {3, protowire.VarintType}, "zigzag": {5, protowire.VarintType},
		"choice": {7, protowire.VarintType}, "fixed": {13, protowire.Fixed32Type},
	}
	all, last := onWire(t, message, types[name].number, types[name].typ)
	switch name {
	case "s", "optional":
		if len(all) == 0 || len(all[len(all)-1]) == 0 {
			return nil
		}
		return string(all[len(all)-1])
	case "raw":
		if len(all) == 0 || len(all[len(all)-1]) == 0 {
			return nil
		}
		return all[len(all)-1]
	case "choice":
		if len(all) == 0 {
			return nil
		}
		return int64(last)
	case "i":
		return int64(last)
	case "zigzag":
		return int64(int32(protowire.DecodeZigZag(last & math.MaxUint32)))
	default:
		return last
	}
}

// FuzzFields compares with what the bytes on the wire say: the key is that of the
// value, as the annotation has it, or the call is refused. Several fields are the
// list of them.
func FuzzFields(f *testing.F) {
	add := func(set map[string]any) {
		b, err := proto.Marshal(oddMessage(set))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	add(nil)
	add(map[string]any{"s": "u1", "u": uint64(math.MaxUint64), "raw": []byte{0}, "zigzag": int32(-7), "fixed": uint32(7)})
	add(map[string]any{"optional": "x", "choice": int64(0), "self": oddMessage(map[string]any{"s": "deep", "i": int64(-1)})})
	add(map[string]any{"self": oddMessage(map[string]any{"self": oddMessage(map[string]any{"u": uint64(5)})})})
	f.Add([]byte{0x0a, 1, 'a', 0x0a, 0, 0x62, 3, 0x0a, 1, 'b', 0x62, 2, 0x18, 1}) // fields that are there twice
	f.Add([]byte{0x08, 1, 0x12, 1, 'a', 0x6d, 1, 0, 0, 0, 0x38, 0})               // fields of another wire type
	paths := []string{
		"s", "u", "i", "raw", "zigzag", "optional", "choice", "fixed",
		"self.s", "self.u", "self.choice", "self.optional", "self.self.s", "self.self.i", "self.self.fixed",
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		m := dynamicpb.NewMessage(odd.Messages().ByName("Odd"))
		if proto.Unmarshal(wire, m) != nil {
			return
		}
		var list []any
		var found []string
		for _, path := range paths {
			want := valueOnWire(t, wire, path)
			got, err := grpcmw.Fields(path).Params(t.Context(), unaryCall, m)
			if want == nil {
				mustBeRefused(t, got, err)
				got, err := grpcmw.Fields(append(found, path)...).Params(t.Context(), unaryCall, m)
				mustBeRefused(t, got, err)
				continue
			}
			if err != nil || keyOf(t, got) != keyOf(t, want) {
				t.Errorf("%s of %x: %#v, %v; want %#v", path, wire, got, err, want)
			}
			list, found = append(list, want), append(found, path)
		}
		got, err := grpcmw.Fields(found...).Params(t.Context(), unaryCall, m)
		if err != nil || keyOf(t, got) != keyOf(t, list) { // never a single one: numbers are always there
			t.Errorf("%q of %x: %#v, %v; want %#v", found, wire, got, err, list)
		}
	})
}

// FuzzFieldPath tries random names. Either Fields or the interceptor panics, or the key is
// that of a field of the message.
func FuzzFieldPath(f *testing.F) {
	for _, seed := range []string{"response_size", "response_status.code", "payload", "", ".", "a..b", "payload.body.x", "responseSize", "nothing", "\xff", "fill_username."} {
		f.Add(seed, "u1", int32(7))
	}
	l := testkit.NewLocker(f, testkit.NewStore().Backend, distlock.Config{})
	info := &grpc.UnaryServerInfo{FullMethod: unaryCall}
	f.Fuzz(func(t *testing.T, path, text string, n int32) {
		var i grpc.UnaryServerInterceptor
		fault := func() (fault any) {
			defer func() { fault = recover() }()
			i = grpcmw.UnaryServerInterceptor(l, rules(unaryCall, grpcmw.Fields(path)))
			return nil
		}()
		known := map[string]any{
			"response_type": 0, "response_size": n, "fill_username": n%2 == 0, "fill_oauth_scope": false, "fill_server_id": false,
			"fill_grpclb_route_type": false, "payload.type": 0, "payload.body": []byte(text), "response_status.code": n,
			"response_status.message": text, "response_compressed.value": nil, "expect_compressed.value": n%2 == 0,
		}
		want, ok := known[path]
		if ok != (fault == nil) {
			t.Fatalf("%q: %v", path, fault)
		}
		if !ok {
			if s, isText := fault.(string); !isText || !strings.HasPrefix(s, "grpcmw: ") {
				t.Errorf("%q: panic %v", path, fault)
			}
			return
		}
		req := &testpb.SimpleRequest{
			ResponseSize: n, FillUsername: n%2 == 0, Payload: &testpb.Payload{Body: []byte(text)},
			ResponseStatus: &testpb.EchoStatus{Code: n, Message: text}, ExpectCompressed: &testpb.BoolValue{Value: n%2 == 0},
		}
		_, err := i(t.Context(), req, info, func(ctx context.Context, _ any) (any, error) {
			if lease, _ := distlock.FromContext(ctx); lease.Key() != keyOf(t, want) {
				t.Errorf("%q: %s, want the key of %#v", path, lease.Key(), want)
			}
			return nil, nil
		})
		refused := want == nil || text == "" && (path == "payload.body" || path == "response_status.message")
		if refused && status.Code(err) != codes.InvalidArgument || !refused && err != nil {
			t.Errorf("%q with %q, %d: %v", path, text, n, err)
		}
	})
}

// FuzzMetadata: one value of one name is one lock, on the server as on the client,
// whatever else is there; anything else is refused on both.
func FuzzMetadata(f *testing.F) {
	f.Add("order", "u1", "ORDER", "u1", byte(0))
	f.Add("Order", "u1", "other", "u2", byte(1))
	f.Add("order-bin", "\x00", "order", "", byte(2))
	f.Add("oRDER", "a", "b", "c", byte(3))
	const name = "Order"
	l := testkit.NewLocker(f, testkit.NewStore().Backend, distlock.Config{})
	server := grpcmw.UnaryServerInterceptor(l, rules(unaryCall, grpcmw.Metadata(name)))
	client := grpcmw.UnaryClientInterceptor(l, rules(unaryCall, grpcmw.Metadata(name)))
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string, how byte) {
		var there []string
		pairs := []string{name1, value1, name2, value2}
		for i := 0; i < len(pairs); i += 2 {
			if how>>i&1 != 0 {
				pairs[i] = name
			}
			if strings.EqualFold(pairs[i], name) {
				there = append(there, pairs[i+1])
			}
		}
		var key string
		note := func(ctx context.Context) { lease, _ := distlock.FromContext(ctx); key = lease.Key() }
		both := metadata.NewIncomingContext(t.Context(), metadata.Pairs(pairs...))
		_, err := server(both, nil, &grpc.UnaryServerInfo{FullMethod: unaryCall}, func(ctx context.Context, _ any) (any, error) {
			note(ctx)
			return nil, nil
		})
		onServer := key
		key = ""
		errClient := client(metadata.NewOutgoingContext(both, metadata.Pairs(pairs...)), unaryCall, nil, nil, nil,
			func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
				note(ctx)
				return nil
			})
		if len(there) == 1 && there[0] != "" {
			if want := keyOf(t, there[0]); err != nil || errClient != nil || onServer != want || key != want {
				t.Errorf("%q: %s, %v on the server; %s, %v on the client; want %s", pairs, onServer, err, key, errClient, want)
			}
			return
		}
		if status.Code(err) != codes.InvalidArgument || status.Code(errClient) != codes.InvalidArgument || onServer+key != "" {
			t.Errorf("%q: %s, %v on the server; %s, %v on the client; want a refusal", pairs, onServer, err, key, errClient)
		}

		// The incoming metadata of a handler is not its outgoing metadata.
		err = client(both, unaryCall, nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			t.Errorf("%q: called with a key from the incoming metadata", pairs)
			return nil
		})
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("%q: %v", pairs, err)
		}
	})
}

// FuzzMethodName: an interceptor takes a rule only for a method that it can see,
// and says in its panic what is wrong.
func FuzzMethodName(f *testing.F) {
	for _, seed := range []string{unaryCall, serverStream, "/a/b", "a/b", "/a", "//", "/a/b/c", "/grpc.testing.TestService/Unary", "/grpc.testing.Nothing/UnaryCall", "/grpc.testing.SimpleRequest/x", "/a b/c", "/\xff/b", "/.a/b"} {
		f.Add(seed)
	}
	l := testkit.NewLocker(f, testkit.NewStore().Backend, distlock.Config{})
	f.Fuzz(func(t *testing.T, method string) {
		var i grpc.UnaryServerInterceptor
		fault := func() (fault any) {
			defer func() { fault = recover() }()
			i = grpcmw.UnaryServerInterceptor(l, rules(method, grpcmw.Method()))
			return nil
		}()
		names := strings.Split(method, "/")
		formed := len(names) == 3 && names[0] == "" && names[1] != "" && names[2] != "" && !strings.ContainsAny(method, " \t\r\n")
		linked := strings.HasPrefix(method, "/grpc.") || strings.HasPrefix(method, "/google.") || strings.HasPrefix(method, "/grpcmw.test.") // packages of which more may be known
		unary := slices.Contains([]string{"EmptyCall", "UnaryCall", "CacheableUnaryCall", "UnimplementedCall"}, names[len(names)-1])
		switch {
		case fault != nil && formed && !linked, fault == nil && !formed, formed && names[1] == "grpc.testing.TestService" && unary != (fault == nil):
			t.Fatalf("%q: %v", method, fault)
		case fault != nil:
			if s, ok := fault.(string); !ok || !strings.HasPrefix(s, "grpcmw: UnaryServerInterceptor: rule for ") {
				t.Errorf("%q: panic %q", method, fault)
			}
			return
		}
		ran := false
		_, err := i(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: method}, func(ctx context.Context, _ any) (any, error) {
			lease, _ := distlock.FromContext(ctx)
			ran = lease.Key() == keyOf(t, method)
			return nil, nil
		})
		if err != nil || !ran {
			t.Errorf("%q: %v, ran under the key of its name: %t", method, err, ran)
		}
	})
}
