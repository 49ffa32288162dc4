package grpcmw_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

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
