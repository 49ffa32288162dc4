package shop

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

// Order 42 has one key, whichever way it comes in: run with -v to see the table.
//
// Row 25 (any): the same value has the same key through every door. Fails if a struct of one
// field is encoded with its field's name, or an integer other than its text.
func TestOneKeyThroughEveryDoor(t *testing.T) {
	const key = "shop:order:42"
	server := miniredis.RunT(t)
	server.ClockTTL(true)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	seen := &recorder{}
	l := testkit.NewLocker(t, redislock.New(client, redislock.Config{}), distlock.Config{Hooks: distlock.Hooks{Start: seen.start}})

	shared := distlock.Opts{Prefix: "shop:", Value: "order", RetryCount: 1}
	each := shared
	each.ParamLock = true
	by := each
	by.Params = distlock.By(func(o Order) any { return o.User.ID })
	type (
		request struct{ OrderID int64 }
		tagged  struct {
			Count   int
			OrderID uint8 `lock:"key"`
		}
	)
	ok := func(context.Context) error { return nil }
	doors := []struct {
		name string
		in   func(ctx context.Context) error
	}{
		{"Wrap, a struct of one field", wrapped(l, request{42}, each)},
		{"Wrap, the same behind a pointer", wrapped(l, &request{42}, each)},
		{"Wrap, an int", wrapped(l, 42, each)},
		{"Wrap, a string", wrapped(l, "42", each)},
		{"Wrap, a tag", wrapped(l, tagged{3, 42}, each)},
		{"Wrap, By", wrapped(l, Order{User: User{ID: 42}}, by)},
		{"Wrap, a protobuf wrapper", wrapped(l, wrapperspb.Int64(42), each)},
		{"a comment, param:orderID", func(ctx context.Context) error {
			_, err := NewLockedPayments(&Bank{Paid: map[int64]int{}}, l).Pay(ctx, "ada", 42)
			return err
		}},
		{"a comment, key:r.OrderID", func(ctx context.Context) error {
			return NewLockedPayments(&Bank{Paid: map[int64]int{42: 1}}, l).Refund(ctx, Receipt{OrderID: 42})
		}},
		{"Site.Do, a list of one", func(ctx context.Context) error { return wiring.Bind(l, each).Do(ctx, []any{42}, ok) }},
		{`Do, "order:42"`, func(ctx context.Context) error { return l.Do(ctx, "order:42", shared, ok) }},
		{`Do, Key("order", 42)`, func(ctx context.Context) error { return l.Do(ctx, distlock.Key("order", 42), shared, ok) }},
		{"Call", func(ctx context.Context) error {
			_, err := distlock.Call(ctx, l, distlock.Key("order", "42"), shared, func(context.Context) (int, error) { return 0, nil })
			return err
		}},
		{"httpmw.PathValue", served(l, httpmw.PathValue("id"), shared)},
		{"httpmw.Int(PathValue)", served(l, httpmw.Int(httpmw.PathValue("id")), shared)},
		{"httpmw.Header", served(l, httpmw.Header("Order"), shared)},
		{"httpmw.Query", served(l, httpmw.Query("order"), shared)},
		{"httpmw.JSONField, 42", served(l, httpmw.JSONField("number", 0), shared)},
		{`httpmw.JSONField, "42"`, served(l, httpmw.JSONField("text", 0), shared)},
		{"httpmw.Params of one", served(l, httpmw.Params(httpmw.Query("order")), shared)},
		{"a field of a form", served(l, func(r *http.Request) (any, error) { return r.FormValue("order"), nil }, shared)},
		{"grpcmw.Fields, an integer", called(wrapperspb.Int64(42), grpcmw.UnaryServerInterceptor(l, rule(grpcmw.Fields("value"), shared)))},
		{"grpcmw.Fields, a string", called(wrapperspb.String("42"), grpcmw.UnaryServerInterceptor(l, rule(grpcmw.Fields("value"), shared)))},
		{"grpcmw.Metadata", called(nil, grpcmw.UnaryServerInterceptor(l, rule(grpcmw.Metadata("order"), shared)))},
		{"an option in a .proto file", called(&shopv1.PlaceOrderRequest{Sku: "42"}, grpcmw.UnaryServerInterceptor(l,
			grpcmw.FromOptions().Adjust(func(_ string, o *distlock.Opts) { o.Value = "order" })))},
	}
	for _, d := range doors {
		if err := d.in(t.Context()); err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
		got := seen.last()
		t.Logf("%-32s %s", d.name, got)
		if got != key {
			t.Errorf("%s: %s, want %s", d.name, got, key)
		}
	}

	// Those outside of this program.
	command := func(args ...string) string {
		out, _ := exec.CommandContext(t.Context(), "go", append([]string{"run", "github.com/distlock-go/distlock/cmd/distlock"}, args...)...).CombinedOutput() //nolint:gosec // ours
		return strings.TrimSpace(string(out))
	}
	run := []string{"run", "-backend", "redis://" + server.Addr(), "-wait", "0", "-key", key, "--", "sh", "-c", "echo $DISTLOCK_KEY"}
	for name, args := range map[string][]string{
		"distlock key":      {"key", "-prefix", "shop:", "-value", "order", "42"},
		"distlock run -key": run,
	} {
		got := command(args...)
		t.Logf("%-32s %s", name, got)
		if got != key {
			t.Errorf("%s: %s, want %s", name, got, key)
		}
	}
	mutex := redsync.New(redsyncredis.NewPool(client)).NewMutex(fmt.Sprintf("shop:order:%d", 42), redsync.WithTries(1))
	err := wrapped(l, request{42}, each, func() {
		if err := mutex.Lock(); err == nil {
			t.Error("redsync has the lock too")
		}
		if got := command(run...); !strings.Contains(got, "held by") {
			t.Errorf("distlock run beside Wrap: %s", got)
		}
	})(t.Context())
	if err != nil {
		t.Error(err)
	}
}

// Accounts alice and bob have one key, and no other two parameters have it.
func TestSeveralParametersByHand(t *testing.T) {
	t.Parallel()
	l, seen := newLocker(t)
	o := distlock.Opts{Prefix: "shop:", Value: "move", ParamLock: true}
	type move struct {
		From, To SKU
		Count    int `lock:"-"`
	}
	for name, in := range map[string]func(ctx context.Context) error{
		"a comment": func(ctx context.Context) error { return NewService(l).Move(ctx, "alice", "bob", 3) },
		"a struct":  wrapped(l, move{"alice", "bob", 3}, o),
		"by hand": func(ctx context.Context) error {
			return l.Do(ctx, "move:alice:bob", distlock.Opts{Prefix: "shop:"}, func(context.Context) error { return nil })
		},
		"Key": func(ctx context.Context) error {
			return l.Do(ctx, distlock.Key("move", "alice", "bob"), distlock.Opts{Prefix: "shop:"}, func(context.Context) error { return nil })
		},
		"HTTP": served(l, httpmw.Params(httpmw.Query("from"), httpmw.Header("To")), distlock.Opts{Prefix: "shop:", Value: "move"}),
	} {
		if err := in(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := seen.last(); got != "shop:move:alice:bob" {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, params := range [][]any{{"alice:bob"}, {"alice:", "bob"}, {"alice", "bob", ""}, {"alice%3Abob"}, {"bob", "alice"}} {
		if got := distlock.Key("move", params...); got == "move:alice:bob" {
			t.Errorf("%q has the key of alice and bob", params)
		}
	}
}

// wrapped calls a wrapped function.
func wrapped[Req any](l *distlock.Locker, req Req, o distlock.Opts, inside ...func()) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := distlock.Wrap(l, func(context.Context, Req) (int, error) {
			for _, f := range inside {
				f()
			}
			return 0, nil
		}, o)(ctx, req)
		return err
	}
}

// served sends a request about order 42 to a route.
func served(l *distlock.Locker, key httpmw.KeyFunc, o distlock.Opts) func(context.Context) error {
	mux := http.NewServeMux()
	mux.Handle("POST /orders/{id}", httpmw.Lock(l, key, o)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	return func(ctx context.Context) error {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/orders/42?order=42&from=alice", strings.NewReader(`{"number":42,"text":"42"}`))
		r.Header.Set("Order", "42")
		r.Header.Set("To", "bob")
		w := httptest.NewRecorder()
		if mux.ServeHTTP(w, r); w.Code != http.StatusOK {
			return fmt.Errorf("status %d: %s", w.Code, w.Body)
		}
		return nil
	}
}

// called makes a call about order 42.
func called(req any, lock grpc.UnaryServerInterceptor) func(context.Context) error {
	method := "/shop/Order"
	if _, is := req.(*shopv1.PlaceOrderRequest); is {
		method = shopv1.ShopService_PlaceOrder_FullMethodName
	}
	return func(ctx context.Context) error {
		ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("order", "42"))
		_, err := lock(ctx, req, &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) { return req, nil })
		return err
	}
}

func rule(key grpcmw.Key, o distlock.Opts) grpcmw.Rules {
	return grpcmw.ByMethod(map[string]grpcmw.Rule{"/shop/Order": {Key: key, Opts: o}})
}
