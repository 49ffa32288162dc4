package grpcmw_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestMistakesArePanicsWhenItIsWired(t *testing.T) {
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
	unary := func(method string, key grpcmw.Key, change ...func(*distlock.Opts)) func() {
		return func() { grpcmw.UnaryServerInterceptor(l, rules(method, key, change...)) }
	}
	stream := func(method string, key grpcmw.Key) func() {
		return func() { grpcmw.StreamServerInterceptor(l, rules(method, key)) }
	}
	oddCall := func(field string) func() { return unary("/grpcmw.test.OddService/Get", grpcmw.Fields(field)) }
	const rule = `grpcmw: UnaryServerInterceptor: rule for "/grpc.testing.TestService/UnaryCall": `
	const oddRule = `grpcmw: UnaryServerInterceptor: rule for "/grpcmw.test.OddService/Get": `
	shape := func(method string) string {
		return fmt.Sprintf(`grpcmw: UnaryServerInterceptor: rule for %q: the method is not of the form "/package.Service/Method"`, method)
	}
	cases := []struct {
		explanation, want string
		wire              func()
	}{
		{"no Locker", "grpcmw: UnaryServerInterceptor: nil Locker", func() { grpcmw.UnaryServerInterceptor(nil, grpcmw.Rules{}) }},
		{"no field", "grpcmw: Fields: no field", func() { grpcmw.Fields() }},
		{"half a path", `grpcmw: Fields: empty name in the path "order."`, func() { grpcmw.Fields("id", "order.") }},
		{"no metadata", "grpcmw: Metadata: empty name", func() { grpcmw.Metadata("") }},
		{"no parts", "grpcmw: Params: no Key", func() { grpcmw.Params() }},
		{"a nil part", "grpcmw: Params: Key 1 is nil", func() { grpcmw.Params(grpcmw.Method(), grpcmw.KeyFunc(nil)) }},

		{"no Key", rule + "Key is nil", unary(unaryCall, grpcmw.Key{})},
		{"Params", rule + "Opts.Params or Opts.ParamLock is set, but Key selects the parameters", unary(unaryCall, messageKey, func(o *distlock.Opts) {
			o.Params = distlock.By(func(s string) any { return s })
		})},
		{"ParamLock", rule + "Opts.Params or Opts.ParamLock is set, but Key selects the parameters", unary(unaryCall, messageKey, func(o *distlock.Opts) { o.ParamLock = true })},
		{"no Value", rule + "distlock: options: Value is empty", unary(unaryCall, messageKey, func(o *distlock.Opts) { o.Prefix, o.Value = "", "" })},
		{"a bad Opts", rule + "distlock: options: KeyTimeout is negative: -1s", unary(unaryCall, messageKey, func(o *distlock.Opts) { o.KeyTimeout = -time.Second })},

		{"what was adjusted", rule + "distlock: options: RetryCount is negative: -1", func() {
			grpcmw.UnaryServerInterceptor(l, rules(unaryCall, messageKey).Adjust(func(_ string, o *distlock.Opts) { o.RetryCount = -1 }))
		}},
		{"nothing to adjust with", "grpcmw: Adjust: nil function", func() { grpcmw.Rules{}.Adjust(nil) }},

		{"no slash", shape("a.b/c"), unary("a.b/c", messageKey)},
		{"one part", shape("/a.b"), unary("/a.b", messageKey)},
		{"no service", shape("//c"), unary("//c", messageKey)},
		{"three parts", shape("/a/b/c"), unary("/a/b/c", messageKey)},
		{"a space", shape("/a.b/c "), unary("/a.b/c ", messageKey)},

		{
			"no such method",
			`grpcmw: UnaryServerInterceptor: rule for "/grpc.testing.TestService/UnaryCal": service grpc.testing.TestService has no method UnaryCal`,
			unary("/grpc.testing.TestService/UnaryCal", messageKey),
		},
		{
			"no such service",
			`grpcmw: UnaryServerInterceptor: rule for "/grpcmw.test.OdService/Get": package grpcmw.test has no service OdService, only OddService`,
			unary("/grpcmw.test.OdService/Get", messageKey),
		},
		{
			"a message for a service",
			`grpcmw: UnaryServerInterceptor: rule for "/grpcmw.test.Odd/Get": grpcmw.test.Odd is not a service`,
			unary("/grpcmw.test.Odd/Get", messageKey),
		},
		{"no such field", rule + `Fields("order_id"): message grpc.testing.SimpleRequest has no field "order_id"`, unary(unaryCall, grpcmw.Fields("order_id"))},
		{"the JSON name", rule + `Fields("responseSize"): message grpc.testing.SimpleRequest has no field "responseSize"`, unary(unaryCall, grpcmw.Fields("responseSize"))},
		{"in a part", rule + `Fields("nothing"): message grpc.testing.SimpleRequest has no field "nothing"`, unary(unaryCall, grpcmw.Params(constant(1), grpcmw.Fields("nothing")))},
		{"a message", rule + `Fields("payload"): field grpc.testing.SimpleRequest.payload is a message: name a field of it`, unary(unaryCall, grpcmw.Fields("payload"))},
		{"a field of a string", oddRule + `Fields("s.x"): field grpcmw.test.Odd.s is a string and has no fields`, oddCall("s.x")},
		{"a list", oddRule + `Fields("list"): field grpcmw.test.Odd.list is repeated`, oddCall("list")},
		{"a map", oddRule + `Fields("mapped"): field grpcmw.test.Odd.mapped is a map`, oddCall("mapped")},
		{"a float", oddRule + `Fields("float"): field grpcmw.test.Odd.float is a float, of which no key can be made`, oddCall("float")},
		{"a double", oddRule + `Fields("self.double"): field grpcmw.test.Odd.double is a double, of which no key can be made`, oddCall("self.double")},

		{
			"a stream for the unary interceptor",
			`grpcmw: UnaryServerInterceptor: rule for "/grpc.testing.TestService/StreamingOutputCall": the method streams: its rule belongs to StreamServerInterceptor`,
			unary(serverStream, messageKey),
		},
		{
			"a unary method for the stream interceptor",
			`grpcmw: StreamServerInterceptor: rule for "/grpc.testing.TestService/UnaryCall": the method does not stream: its rule belongs to UnaryServerInterceptor`,
			stream(unaryCall, messageKey),
		},
		{
			"fields of a stream",
			`grpcmw: StreamServerInterceptor: rule for "/grpc.testing.TestService/FullDuplexCall": the client streams, so there is no one request to take fields from: use Metadata`,
			stream(duplex, grpcmw.Params(grpcmw.Metadata("a"), messageKey)),
		},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			defer func() {
				if got := recover(); got != c.want {
					t.Errorf("panic\n%v, want\n%v", got, c.want)
				}
			}()
			c.wire()
		})
	}
}
