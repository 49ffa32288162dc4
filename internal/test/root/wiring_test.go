package test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

type payRequest struct {
	OrderID int64
	Note    string `lock:"-"`
}

type payService struct{ paid map[int64]int }

func (s *payService) pay(_ context.Context, r payRequest) (string, error) {
	s.paid[r.OrderID]++
	return "paid", nil
}

func TestWrap(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		svc := &payService{paid: map[int64]int{}}
		pay := distlock.Wrap(l, svc.pay, distlock.Opts{Prefix: "shop:", Value: "pay", ParamLock: true})
		byID := distlock.Wrap(l, svc.pay, distlock.Opts{
			Prefix: "shop:", Value: "pay-id", ParamLock: true,
			Params: distlock.By(func(r payRequest) any { return r.OrderID }),
		})
		whole := distlock.Wrap(l, svc.pay, distlock.Opts{Prefix: "shop:", Value: "pay"})
		for _, r := range []payRequest{{1, "a"}, {1, "b"}, {2, "a"}} {
			for _, f := range []distlock.Func[payRequest, string]{pay, byID, whole} {
				if got, err := f(t.Context(), r); got != "paid" || err != nil {
					t.Errorf("%+v: %q, %v", r, got, err)
				}
			}
		}
		calls := s.Calls(testkit.Enqueue)
		key := func(request, f int) string { return calls[3*request+f].Key }
		if key(0, 0) != key(1, 0) || key(0, 0) == key(2, 0) || key(0, 1) != key(1, 1) || key(0, 1) == key(2, 1) {
			t.Errorf("keys do not follow the parameters: %v", calls)
		}
		if key(0, 2) != "shop:pay" || key(2, 2) != "shop:pay" {
			t.Errorf("keys without parameters: %q, %q", key(0, 2), key(2, 2))
		}
		if svc.paid[1] != 6 || svc.paid[2] != 3 {
			t.Errorf("paid %v", svc.paid)
		}
		fails := distlock.Wrap(l, func(context.Context, int) (int, error) { return 7, errMine }, distlock.Opts{Value: "f"})
		if got, err := fails(t.Context(), 1); got != 7 || err != errMine { //nolint:errorlint // the same value
			t.Errorf("%d, %v", got, err)
		}
		// The same parameter gives the same key in every form.
		byString := distlock.Opts{Prefix: "shop:", Value: "pay-id", ParamLock: true}
		if k, err := wiring.Key(byString, int64(1)); err != nil || k != key(0, 1) {
			t.Errorf("Key(1) = %q, %v; By gave %q", k, err, key(0, 1))
		}
	})
}

// What a program declares wrongly ends it at once, not at the first lock.
func TestWiringRefusesNonsense(t *testing.T) {
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{})
	ok := distlock.Opts{Value: "f"}
	f := func(context.Context, int) (string, error) { return "", nil }
	by := distlock.By(func(s string) any { return s })
	wrap := func(o distlock.Opts) func() { return func() { distlock.Wrap(l, f, o) } }
	locker := func(cfg distlock.Config) func() { return func() { distlock.New(s, cfg) } }
	for want, wire := range map[string]func(){
		"distlock: New: nil Backend":                                     func() { distlock.New(nil, distlock.Config{}) },
		"distlock: Config.MaxWaiters is negative: -2":                    locker(distlock.Config{MaxWaiters: -2}),
		"distlock: Config.CloseTimeout is negative: -1ns":                locker(distlock.Config{CloseTimeout: -1}),
		"distlock: Config.HandOverTime is below -1: -2ns":                locker(distlock.Config{HandOverTime: -2}),
		"distlock: LogHooks: nil Logger":                                 func() { distlock.LogHooks(nil) },
		"distlock: Keyed: the secret has 0 bytes: at least 16":           func() { distlock.Keyed(nil) },
		"distlock: Keyed: the secret has 15 bytes: at least 16":          func() { distlock.Keyed([]byte("0123456789abcde")) },
		"distlock: nil Locker":                                           func() { distlock.Wrap(nil, f, ok) },
		"distlock: Wrap: nil Func[int, string]":                          func() { distlock.Wrap[int, string](l, nil, ok) },
		"distlock: options: Value is empty":                              wrap(distlock.Opts{}),
		`distlock: options "f": KeyTimeout is negative: -1s`:             wrap(distlock.Opts{Value: "f", KeyTimeout: -time.Second}),
		"distlock: Wrap: Params takes string but the request is a int":   wrap(distlock.Opts{Value: "f", Params: by}),
		`distlock: options "f": Counter.add: RetryCount is negative: -1`: func() { wiring.NewSite("Counter.add", distlock.Opts{Value: "f", RetryCount: -1}) },
	} {
		wantPanic(t, want, wire)
	}
	wantPanic(t, "distlock: nil Locker", func() { wiring.Bind(nil, ok) })
}

// Each Locker has its own locks, also if there are more of them than a Site caches and
// several goroutines bind it at the same time.
func TestSiteOnManyLockers(t *testing.T) {
	t.Parallel()
	s := wiring.NewSite("f", distlock.Opts{Value: "f"})
	var lockers [20]*distlock.Locker
	var inside [20]atomic.Int32
	for i := range lockers {
		lockers[i] = distlock.New(memlock.New(), distlock.Config{})
		t.Cleanup(func() { wantIs(t, lockers[i].Close()) })
	}
	var all sync.WaitGroup
	for range 10 {
		for i, l := range lockers {
			all.Go(func() {
				err := s.On(l).Do(t.Context(), nil, func(ctx context.Context) error {
					if n := inside[i].Add(1); n != 1 {
						t.Errorf("%d inside", n)
					}
					defer inside[i].Add(-1)
					return s.On(l).Do(ctx, nil, func(context.Context) error { return nil }) // a re-entry, so it is the same Locker
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
}

// Each Locker's own Hasher makes the keys, also if another Locker bound the Site first.
func TestSiteOnUsesTheHasherOfTheLocker(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	other := testkit.NewLocker(t, memlock.New(), distlock.Config{Hasher: testkit.WhenCalled("x")})
	o := distlock.Opts{Value: "f", ParamLock: true}
	s := wiring.Bind(other, o)
	for _, c := range []struct {
		site *wiring.Site
		want string
	}{{s, "f:x"}, {s.On(other), "f:x"}, {s.On(l), "f:7"}, {s.On(l).On(other), "f:x"}} {
		if got, err := c.site.Key(7); got != c.want || err != nil {
			t.Errorf("key %q, %v; want %q", got, err, c.want)
		}
	}
}

// After the first call, binding does not allocate.
func TestSiteOnAllocates(t *testing.T) {
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	s := wiring.NewSite("f", distlock.Opts{Value: "f"})
	if n := testing.AllocsPerRun(100, func() { s.On(l) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// With Skip a function runs without a lock, and there is no lock to acquire.
func TestSkip(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		byID := distlock.By(func(id int) any {
			if id == 0 {
				return distlock.Skip
			}
			return id
		})
		locked := 0
		fn := func(ctx context.Context) error {
			if _, ok := distlock.FromContext(ctx); ok {
				locked++
			}
			return nil
		}
		for i, o := range []distlock.Opts{
			{Value: "f"}, {Value: "f", ParamLock: true}, {Value: "f", ParamLock: true, Params: byID}, {Value: "f", ParamLock: true, Params: byID, KeyFormat: joined},
		} {
			site := wiring.Bind(l, o)
			wantIs(t, site.Do(t.Context(), distlock.Skip, fn))
			_, err := site.Key(distlock.Skip)
			wantIs(t, err, distlock.ErrKey)
			if i > 1 {
				f := distlock.Wrap(l, func(ctx context.Context, _ int) (int, error) { return 0, fn(ctx) }, o)
				wantIs(t, testkit.ErrorOf(f(t.Context(), 0)))
			}
		}
		if calls := s.Calls(); len(calls) > 0 || locked > 0 {
			t.Errorf("the store was asked: %v; %d ran with a lock", calls, locked)
		}
		wantIs(t, wiring.Bind(l, distlock.Opts{Value: "f", ParamLock: true, Params: byID}).Do(t.Context(), 1, fn))
		if locked != 1 {
			t.Error("it ran without a lock")
		}
	})
}

// A Site that cannot lock returns an error for each call, and does not panic.
func TestSiteRefuses(t *testing.T) {
	t.Parallel()
	run := func(context.Context) error { t.Error("ran"); return nil }
	reading := wiring.NewSite("Service.price", distlock.Opts{Prefix: "shop:", Value: "prices", Mode: distlock.Shared})
	long := wiring.NewSite("long", distlock.Opts{Prefix: "shop:", Value: strings.Repeat("x", 150), ParamLock: true})
	unshared := testkit.NewStore()
	unshared.SetFeatures(driver.Features{})
	wide := distlock.Hasher(func(key, _ []byte) []byte { return append(key, strings.Repeat("x", 96)...) })
	l := testkit.NewLocker(t, unshared, distlock.Config{Hasher: wide})
	for want, s := range map[string]*wiring.Site{
		"Service.price: the Site has no Locker: call On":                                                             reading,
		"Service.price: the Locker is nil":                                                                           reading.On(nil),
		"Service.price: Mode is shared, but the backend *testkit.Store does not support sharing":                     reading.On(l),
		"long: Prefix+Value " + `"shop:` + strings.Repeat("x", 59) + `"... is 155 bytes long and leaves no room for`: long.On(l),
	} {
		_, keyErr := s.Key(7)
		for _, err := range []error{keyErr, s.Do(t.Context(), 7, run)} {
			if e := new(distlock.Error); !errors.As(err, &e) || e.Op != "options" || !strings.HasPrefix(e.Err.Error(), want) || !strings.HasPrefix(e.Key, "shop:") {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}
