// Package springaspect has code of docs/from-distributedlock.md.
package springaspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/javakey"
	"github.com/distlock-go/distlock/wiring"
)

// stock is what both programs change.
type stock interface {
	Reserve(ctx context.Context, sku string) (string, error)
}

// stockFunc is a function as a stock.
type stockFunc func() string

func (f stockFunc) Reserve(context.Context, string) (string, error) { return f(), nil }

func newLocker(rdb redis.UniversalClient) *distlock.Locker {
	backend := redislock.New(rdb, redislock.Config{FreeRelease: true})
	locker := distlock.New(backend, distlock.Config{})
	return locker
}

func after(locker *distlock.Locker, stock stock) distlock.Func[string, string] {
	opts := javakey.AspectDefaults() // 1 s, 3 attempts, 500 ms, and the keys of the aspect
	opts.Prefix, opts.Value, opts.ParamLock = "shop:", "reserve", true
	reserve := distlock.Wrap(locker, stock.Reserve, opts)
	return reserve
}

// theirs is the key of the aspect: "tea".hashCode() is 114704.
const theirs = "shop:reserve-114704-locks"

func TestOneKey(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer rdb.Close()
	locker := newLocker(rdb)
	defer locker.Close()

	taken := true // by the aspect
	reserve := after(locker, stockFunc(func() string {
		taken = rdb.SetNX(t.Context(), theirs, "5e9d4b0e-5d4c-4b5c-8b6d-0a5f3a8f2d11", time.Minute).Val()
		return "reserved"
	}))
	if got, err := reserve(t.Context(), "tea"); got != "reserved" || err != nil || taken {
		t.Errorf("reserve: %q, %v; the aspect got the lock: %t", got, err, taken)
	}
	if !rdb.SetNX(t.Context(), theirs, "5e9d4b0e-5d4c-4b5c-8b6d-0a5f3a8f2d11", time.Minute).Val() {
		t.Error("the aspect did not get the lock after the release")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := reserve(ctx, "tea"); got != "" || !errors.Is(err, distlock.ErrNotAcquired) {
		t.Errorf("reserve while the aspect has the lock: %q, %v", got, err)
	}
}

// What the aspect refuses in its verify, on the first call, is refused when the program starts.
func Example_refused() {
	opts := distlock.Opts{Prefix: "my-", RetryCount: -1, RetryInterval: -200 * time.Millisecond}
	fmt.Println(opts.Validate())
	// Output: distlock: options: Value is empty; RetryInterval is negative: -200ms; RetryCount is negative: -1
}

// The pages have the keys that both sides make of the article's method and its arguments.
func TestKeysOfThePage(t *testing.T) {
	t.Parallel()
	english, err := os.ReadFile("../../../docs/from-distributedlock.md")
	chinese, zhErr := os.ReadFile("../../../docs/from-distributedlock.zh-CN.md")
	if err != nil || zhErr != nil {
		t.Fatal(err, zhErr)
	}
	for call, args := range map[string][]any{
		`test("a", 7, "x")`:  {"a", 7, "x"},
		`test("a", 7, null)`: {"a", 7, nil},
		`test("Aa", 7, "x")`: {"Aa", 7, "x"},
		`test("BB", 7, "x")`: {"BB", 7, "x"},
	} {
		opts := distlock.Opts{Prefix: "my-", Value: "test", ParamLock: true}
		own, err := wiring.Key(opts, args)
		if err != nil {
			t.Fatal(err)
		}
		opts.KeyFormat = javakey.Aspect
		theirs, err := wiring.Key(opts, args)
		if err != nil {
			t.Fatal(err)
		}
		if row := "| `" + call + "` | `" + theirs + "` | `" + own + "` |\n"; !strings.Contains(string(english), row) || !strings.Contains(string(chinese), row) {
			t.Errorf("one of the pages does not have the row\n%s", row)
		}
	}
}
