package testkit_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func (f *failures) Errorf(format string, args ...any) {
	f.what = append(f.what, fmt.Sprintf(format, args...))
}

// TestRegisterFindsViolations has wrong and right holders.
func TestRegisterFindsViolations(t *testing.T) {
	const key = "k"
	for name, c := range map[string]struct {
		use  func(tb testing.TB, r *testkit.Register)
		want string // "": it is right
	}{
		"in turns": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			for token := range uint64(3) {
				r.Enter(tb, key, token+1)
				r.Leave(key, token+1)
			}
		}, ""},
		"two keys": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			r.Enter(tb, key, 1)
			r.Enter(tb, "another", 1)
		}, ""},
		"two at once": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			r.Enter(tb, key, 1)
			r.Enter(tb, key, 2)
		}, "token 2 enters while 1 is inside"},
		"the same token": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			r.Enter(tb, key, 5)
			r.Leave(key, 5)
			r.Enter(tb, key, 5)
		}, "used twice"},
		"a lower token": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			r.Enter(tb, key, 5)
			r.Leave(key, 5)
			r.Enter(tb, key, 4)
		}, "token 4 after token 5"},
		"lenient: two at once, in any order": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			r.SetLenient(true)
			r.Enter(tb, key, 7)
			r.Enter(tb, key, 6)
			r.Leave(key, 7)
			r.Leave(key, 6)
			r.SetLenient(false)
			r.Enter(tb, key, 8)
		}, ""},
		"lenient: the same token": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			r.SetLenient(true)
			r.Enter(tb, key, 7)
			r.Enter(tb, key, 7)
		}, "used twice"},
		"lenient: below a strict one": {func(tb testing.TB, r *testkit.Register) {
			tb.Helper()
			r.Enter(tb, key, 7)
			r.SetLenient(true)
			r.Enter(tb, key, 6)
		}, "token 6 after token 7"},
	} {
		t.Run(name, func(t *testing.T) {
			var r testkit.Register
			f := &failures{TB: t}
			c.use(f, &r)
			if c.want == "" && len(f.what) > 0 || c.want != "" && !strings.Contains(strings.Join(f.what, "\n"), c.want) {
				t.Errorf("it found %q, want %q", f.what, c.want)
			}
		})
	}
}

// TestRegisterOfLeases checks that a lease that has ended may be inside together with the
// next one, but that tokens are above that of a holder that left before the request.
func TestRegisterOfLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testkit.NewLocker(t, testkit.Unrenewed(memlock.New()), distlock.Config{})
		o := distlock.Opts{KeyTimeout: time.Minute}
		f := &failures{TB: t}
		var r testkit.Register
		var leases []*distlock.Lease
		for range 2 {
			s := testkit.MustAcquire(t, l, "k", o)
			r.EnterLease(f, s, r.Left("k"))
			time.Sleep(time.Minute)
			_ = s.Release(t.Context()) // it is lost
			leases = append(leases, s)
		}
		if len(f.what) > 0 {
			t.Errorf("two leases, one after the other: %q", f.what)
		}
		late := testkit.MustAcquire(t, l, "k", o)
		r.EnterLease(f, late, late.Token())
		if len(f.what) != 1 {
			t.Errorf("a token that is not above: %q", f.what)
		}
		r.Leave("k", leases[1].Token())
		if got := r.Left("k"); got != leases[1].Token() {
			t.Errorf("token %d has left", got)
		}
		if got := r.Uses(); got != 3 {
			t.Errorf("%d uses", got)
		}
	})
}

// TestRegisterUnderMutex checks that a real lock causes no violation, however many
// goroutines use it.
func TestRegisterUnderMutex(t *testing.T) {
	var r testkit.Register
	var mu sync.Mutex
	var token uint64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				mu.Lock()
				token++
				r.Enter(t, "k", token)
				r.Leave("k", token)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if got := r.Uses(); got != 4000 {
		t.Errorf("%d uses", got)
	}
}
