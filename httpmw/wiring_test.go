package httpmw_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestMistakesArePanicsWhenItIsWired(t *testing.T) {
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
	key := httpmw.PathValue("id")
	params := opts()
	params.Params = distlock.By(func(r *http.Request) any { return r.URL })
	params.ParamLock = true
	cases := []struct {
		explanation, want string
		wire              func()
	}{
		{"no Locker", "httpmw: Lock: nil Locker", func() { httpmw.Lock(nil, key, opts()) }},
		{"no KeyFunc", "httpmw: Lock: nil KeyFunc", func() { httpmw.Lock(l, nil, opts()) }},
		{"Params", "httpmw: Lock: Opts.Params is set, but the KeyFunc selects the parameters", func() { httpmw.Lock(l, key, params) }},
		{"no Value", "httpmw: Lock: distlock: options: Value is empty", func() { httpmw.Lock(l, key, distlock.Opts{}) }},
		{"a bad Opts", "httpmw: Lock: distlock: options: KeyTimeout is negative: -1s", func() {
			httpmw.Lock(l, key, distlock.Opts{Value: "v", KeyTimeout: -time.Second})
		}},
		{"no Handler", "httpmw: Lock: nil Handler", func() { httpmw.Lock(l, key, opts())(nil) }},
		{"no ErrorHandler", "httpmw: WithErrorHandler: nil ErrorHandler", func() { httpmw.WithErrorHandler(nil) }},
		{"no body", "httpmw: WithBodyFirst: the limit is not positive: -1", func() { httpmw.WithBodyFirst(-1) }},
		{"no JSON body", "httpmw: JSONField: the limit is not positive: -1", func() { httpmw.JSONField("id", -1) }},
		{"no path value", "httpmw: PathValue: empty name", func() { httpmw.PathValue("") }},
		{"no header", "httpmw: Header: empty name", func() { httpmw.Header("") }},
		{"a header that is none", "httpmw: Header: net/http keeps Host in Request.Host", func() { httpmw.Header("host") }},
		{"no parameter", "httpmw: Query: empty name", func() { httpmw.Query("") }},
		{"no field", `httpmw: JSONField: empty name in the path ""`, func() { httpmw.JSONField("", 0) }},
		{"half a path", `httpmw: JSONField: empty name in the path "order."`, func() { httpmw.JSONField("order.", 0) }},
		{"no integer", "httpmw: Int: nil KeyFunc", func() { httpmw.Int(nil) }},
		{"no parts", "httpmw: Params: no KeyFunc", func() { httpmw.Params() }},
		{"a nil part", "httpmw: Params: KeyFunc 1 is nil", func() { httpmw.Params(key, nil) }},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			defer func() {
				if got := recover(); got != c.want {
					t.Errorf("panic %v, want %q", got, c.want)
				}
			}()
			c.wire()
		})
	}
}
